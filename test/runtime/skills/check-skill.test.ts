import { checkSkill } from '../../../runtime/skills/check-skill';
import { readSkill } from '../../../runtime/skills/read-skill';
import { fillSkill } from '../../../runtime/skills/skill-text';
import { createFiller } from '../../../runtime/util/variables/fill';

const skill = (frontMatter: string, body = 'Do it.') => `---\n${frontMatter}\n---\n${body}`;

// The examples of agentskills.io/specification, read on 2026-11-27.
it('reads the minimal example of the specification', async () => {
  const content = `---\nname: skill-name\ndescription: A description of what this skill does and when to use it.\n---\n`;
  expect(await checkSkill(content)).toEqual({
    name: 'skill-name',
    description: 'A description of what this skill does and when to use it.',
    body: '',
    issues: [],
  });
});

it('reads the example of the specification with optional fields, all of them as text', async () => {
  const frontMatter = [
    'name: pdf-processing',
    'description: Extract PDF text, fill forms, merge files. Use when handling PDFs.',
    'license: Apache-2.0',
    'compatibility: Requires Python 3.14+ and uv',
    'metadata:\n  author: example-org\n  version: 1.0',
    'allowed-tools: Bash(git:*) Bash(jq:*) Read',
  ].join('\n');
  const { issues, ...read } = await checkSkill(skill(frontMatter));
  expect(read).toMatchObject({ compatibility: 'Requires Python 3.14+ and uv', body: 'Do it.' });
  expect(read.allowedTools).toEqual(['Bash(git:*)', 'Bash(jq:*)', 'Read']);
  expect(issues).toEqual([
    'argument patterns are not supported, so these entries allow nothing: Bash(git:*), Bash(jq:*)',
  ]);
});

it('reads the five fields and the body of a skill with tools, model and max_turns', async () => {
  const body = 'You are a research assistant. Find information about: $ARGUMENTS';
  const content = skill(
    'name: researcher\ndescription: Web research skill\ntools:\n  - web_search\n  - fetch_url\nmodel: agentchat\nmax_turns: 5',
    `${body}\n`,
  );
  expect(await checkSkill(content)).toMatchObject({
    name: 'researcher',
    description: 'Web research skill',
    allowedTools: ['web_search', 'fetch_url'],
    model: 'agentchat',
    maxTurns: 5,
    body,
  });
});

it.each([
  [
    'an unquoted colon',
    'description: Use this when: the user asks about PDFs',
    'Use this when: the user asks about PDFs',
  ],
  ['quotes', 'description: "Use: always"', 'Use: always'],
  ['a folded text', 'description: >\n  Use\n  always', 'Use always'],
  ['a number', 'description: 12', '12'],
])('reads a description with %s', async (_what, line, description) => {
  expect((await checkSkill(skill(`name: a\n${line}`))).description).toBe(description);
});

it.each([
  ['CRLF and a byte order mark', '\uFEFF---\r\nname: a\r\ndescription: b\r\n---\r\nBody\r\n', 'Body'],
  ['nothing after the front matter', '---\nname: a\ndescription: b\n---', ''],
  ['a rule in the body', '---\nname: a\ndescription: b\n---\nOne\n---\nTwo', 'One\n---\nTwo'],
])('reads a text with %s', async (_what, content, body) => {
  expect(await checkSkill(content)).toMatchObject({ name: 'a', description: 'b', body });
});

it.each([
  ['no front matter', 'name: a', /must begin with YAML/],
  ['no name', skill('description: b'), /name must be/],
  ['a name with a path', skill('name: ../a\ndescription: b'), /name must be/],
  [
    'a name of too many letters that count double',
    skill(`name: ${'\u{20000}'.repeat(33)}\ndescription: b`),
    /name must be/,
  ],
  ['a NUL in the description', skill('name: a\ndescription: "a\\0b"'), /holds a NUL/],
  ['more tools than can be held', skill(`name: a\ndescription: b\ntools: ${'q '.repeat(201)}`), /more than 200/],
  ['a name that is too long', skill(`name: ${'a'.repeat(65)}\ndescription: b`), /name must be/],
  ['no description', skill('name: a\ndescription: " "'), /description must say/],
  ['a long description', skill(`name: a\ndescription: ${'b'.repeat(1025)}`), /1025 characters/],
  ['what is not YAML', skill('name: [a\ndescription: b'), /not YAML/],
  ['a list', skill('- a'), /must be a list of "key: value"/],
  ['aliases', skill(`name: a\ndescription: &x b\nmetadata: [*x, *x]`), /not YAML/],
  ['a name that every object has', skill('name: a\ndescription: b\n__proto__: c'), /nothing can have/],
  ['deep nesting', skill(`name: a\ndescription: b\nmetadata: ${'['.repeat(2500)}`), /not YAML|too deeply/],
  ['turns that are no number', skill('name: a\ndescription: b\nmax_turns: 0'), /whole number above zero/],
  ['too much of it', skill(`name: a\ndescription: b\nlicense: ${'c'.repeat(3001)}`), /longer than/],
])('refuses %s', async (_what, content, reason) => {
  await expect(checkSkill(content)).rejects.toThrow(reason);
});

it.each([
  ['capitals', 'name: PDF-Processing', /does not follow the specification/],
  ['a hyphen at the beginning', 'name: -pdf', /does not follow the specification/],
  ['two hyphens', 'name: pdf--processing', /does not follow the specification/],
  ['a long compatibility', `name: a\ncompatibility: ${'c'.repeat(501)}`, /compatibility is longer/],
])('takes a skill with %s, and reports it', async (_what, lines, issue) => {
  const { issues } = await checkSkill(skill(`${lines}\ndescription: b`));
  expect(issues.join()).toMatch(issue);
});

it.each([
  ['a text', 'allowed-tools: find_orders, pay  orders.*', ['find_orders', 'pay', 'orders.*']],
  ['nothing', 'allowed-tools:', []],
  ['no value at all', '? allowed-tools', []],
  ['a list', 'tools: [a, b c]', ['a', 'b', 'c']],
  ['a pattern with a star behind it', 'allowed-tools: Bash(git:*)*', ['Bash(git:*)*']],
  ['patterns within patterns', 'tools: ["Bash(echo (x) * )"]', ['Bash(echo (x) * )']],
  ['a parenthesis that closes nothing', 'tools: a) b', ['a)', 'b']],
  [
    'a pattern with spaces, and one that is not closed',
    'allowed_tools: Bash(git add *) Read(',
    ['Bash(git add *)', 'Read('],
  ],
  ['what is no name', 'allowed-tools: [{ a: b }]', ['{"a":"b"}']],
  ['no such line', 'license: MIT', undefined],
])('reads the allowed tools from %s', async (_what, line, tools) => {
  expect((await readSkill(skill(`name: a\n${line}`))).allowedTools).toEqual(tools);
});

it('reads a description with a colon, and no comment as a tool', async () => {
  const content = skill('name: a\ndescription: Use when: asked\nallowed-tools: look # not: pay');
  expect(await readSkill(content)).toMatchObject({ description: 'Use when: asked', allowedTools: ['look'] });
});

it.each([
  ...['Allowed-Tools', 'allowedTools', 'disallowed-tools', 'Tools', 'tool', 'tools-allowed', 'enabled_tools'],
  ...['only-tools', 'metadata:\n  allowed-tools', 'metadata:\n  tools'],
])('refuses %j, which seems to guard and is not read', async (key) => {
  await expect(checkSkill(skill(`name: a\ndescription: b\n${key}: pay`))).rejects.toThrow(/is not read/);
});

it('takes what other programs have in their front matter', async () => {
  const lines = [
    ...['argument-hint: [file] [mode]', 'when_to_use: Use when: asked', 'user-invocable: true', 'context: fork'],
    ...['agent: Explore', 'disable-model-invocation: false', 'version: 1.0', 'tags: [a, b]', 'hooks:\n  Stop: x'],
    ...['license: Issue #5', 'metadata:\n  tool-version: 2\n  emoji: x'],
  ];
  const read = await checkSkill(skill(`name: a\ndescription: Issue #5: fix it\n${lines.join('\n')}`));
  expect(read).toMatchObject({ description: 'Issue #5: fix it', issues: [] });
});

it('puts arguments and variables in once, and does not expand them again', () => {
  const filler = createFiller(new Map([['x', '{{y}} $ARGUMENTS']]));
  const fill = (body: string, given: string) => fillSkill(body, { given, filler });
  expect(fill('Find $ARGUMENTS for $ARGUMENTS.', '$ARGUMENTS $& {{x}}')).toBe(
    'Find $ARGUMENTS $& {{x}} for $ARGUMENTS $& {{x}}.',
  );
  expect(fill('{{x}}: $ARGUMENTS', 'cats')).toBe('{{y}} $ARGUMENTS: cats');
  expect(fill('Find {{x}}.', 'cats')).toBe('Find {{y}} $ARGUMENTS.\n\nARGUMENTS: cats');
  expect(fill('Find $ARGUMENTS.', '')).toBe('Find .');
  expect(() => fill('$ARGUMENTS'.repeat(19_000), 'x'.repeat(20_000))).toThrow('longer than 250000 characters');
});
