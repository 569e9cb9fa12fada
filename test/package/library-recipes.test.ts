import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');
const page = readFileSync(path.join(ROOT, 'docs/library.md'), 'utf8');
/** Each heading with the code below it, which prints something. */
const recipes = page
  .split(/^## /m)
  .slice(1)
  .map((section): [string, string] => [
    section.slice(0, section.indexOf('\n')),
    /^```js\n([\s\S]*?)^```/m.exec(section)?.[1] ?? '',
  ]);

const PRINTED: Readonly<Record<string, string>> = {
  'Step by step': 'true 1 \nfalse 1 It is noon.\n',
  'An agent with a skill': 'support code Refunded.\ntrue\n',
  'A model': 'openai/gpt-4o-mini heard: Hello 15 0.00002000\n',
  'A log':
    '["debug","run started","greeting",""]\n["debug","step done","greeting",""]\n["info","run ended","greeting","completed"]\n',
  'A source of tools': 'Seven. [7]\nNo tools. []\n',
  Conversations: 'user assistant user\n',
};

it('each recipe of the page is run here', () => {
  expect(recipes.map(([title]) => title)).toEqual(Object.keys(PRINTED));
});

it.each(recipes)('%s: prints what the page promises', (title, code) => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: ROOT, encoding: 'utf8' });
  expect(output).toBe(PRINTED[title]);
});
