// The page docs/administration.md: each operation with its input, result and errors, from its declaration and its public type.
import { createRequire } from 'node:module';
import path from 'node:path';

import ts from 'typescript';

import { root } from './run-steps.mjs';

// The copy that the operations are declared with: another one knows nothing of their metadata.
const { z } = createRequire(import.meta.url)('zod/v4');

const NEEDS = { vault: 'the vault key', provider: 'the model provider', redis: 'Redis' };

/** `operations` and `resources` are the tables of runtime/admin/operations.ts, `commands` how each is called, by name. */
export function administrationPage({ operations, resources, commands, types, note }) {
  const parts = Object.entries(resources)
    .sort(([, one], [, other]) => (one < other ? -1 : 1))
    .flatMap(([resource, title]) => {
      const own = operations.filter(({ name }) => name.startsWith(`${resource}.`));
      const { words, methods } = types.get(resource);
      return [
        '',
        `## ${title}`,
        '',
        coded(words),
        ...own.flatMap((row) =>
          section(row, title, { ...methods.get(row.name.split('.')[1]), command: commands.get(row.name) }),
        ),
      ];
    });
  return [
    '# Administration',
    '',
    note,
    '',
    'Every operation of the node **Universal AI Agent Admin** is a function of the library, `runtime.admin`, and a command, with',
    'the same input, checks and result. `allowedTiers` is `--allowed-tiers` on the command line, where names that have to be',
    'there need no option, `none` is null, `-` is standard input, a list is its option several times, and an object is JSON',
    'or `KEY=VALUE`, where VALUE is JSON or else a text: `phone=\'"49301"\'` is one in any case. A list in pages gives `next`:',
    'give it as `after` for the next page. Every operation rejects with `ADMIN_INPUT_INVALID` for input that it does not know;',
    '[errors.md](errors.md) says what to do about each code.',
    '',
    '```js',
    "const { id } = await runtime.admin.tenant.create({ name: 'Acme', settings: { default_tier: 'pro' } });",
    "await runtime.admin.tool.enable({ tenantId: id, code: 'find_orders' });",
    '```',
    ...parts,
    '',
  ].join('\n');
}

function section(
  { name, title, action, description, needs = [], input },
  resource,
  { words, fields, result, command },
) {
  const rows = inputRows(input, fields);
  return [
    '',
    `### ${action}`,
    '',
    words === '' ? `${description}.` : coded(words),
    '',
    `- Admin: **${resource}**, **${title}**`,
    `- Command line: \`universal-ai-agent ${command}\``,
    `- Library: \`${libraryCall(name, input)}\``,
    ...(needs.length === 0 ? [] : ['', `Uses, where configured: ${needs.map((need) => NEEDS[need]).join(', ')}.`]),
    ...(rows.length === 0 ? [] : ['', '| input | type | |', '| --- | --- | --- |', ...rows]),
    ...(result.length === 0 ? [] : ['', `Result: ${result.map((key) => `\`${key}\``).join(', ')}.`]),
  ];
}

/** The call with what has to be there. */
function libraryCall(name, input) {
  const { anyOf, required = anyOf?.[0].required ?? [] } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
  });
  return `runtime.admin.${name}(${required.length === 0 ? '' : `{ ${required.join(', ')} }`})`;
}

/** The words with codes of errors as code. */
const coded = (words) =>
  words.replace(/(?<!`)\b[A-Z]{2,}(?:_[A-Z]+)+\b/g, '`$&`').replaceAll(' DB_ code', ' `DB_` code');

function inputRows(input, fields) {
  const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const shapes = schema.anyOf ?? [schema];
  const keys = new Set(shapes.flatMap(({ properties = {} }) => Object.keys(properties)));
  return [...keys].map((key) => {
    const property = shapes.find(({ properties = {} }) => key in properties).properties[key];
    const isRequired = shapes.every(({ required = [] }) => required.includes(key));
    const optional = property.default === undefined ? '' : `Default ${JSON.stringify(property.default)}.`;
    const words = [isRequired ? 'Required.' : optional, fields.get(key) ?? ''].filter(Boolean).join(' ');
    return `| \`${key}\` | ${typeText(property)} | ${words.replaceAll('|', '\\|').replaceAll('\n', ' ')} |`;
  });
}

function typeText(schema) {
  const { type, enum: words, const: only, anyOf } = schema;
  if (only !== undefined) return `\`${only}\``;
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ');
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeText))].join(' or ');
  return TYPES[type]?.(schema) ?? 'JSON object';
}

const TYPES = {
  string: ({ format, maxLength: most }) =>
    format === 'uuid' ? 'UUID' : `text${most === undefined ? '' : `, at most ${most}`}`,
  integer: (schema) => `whole number${range(schema)}`,
  number: (schema) => `number${range(schema)}`,
  boolean: () => 'true or false',
  array: ({ items }) => `list of ${typeText(items)}`,
  null: () => 'null',
};

function range({ minimum, maximum }) {
  const isBound = (bound) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return [isBound(minimum) ? ` from ${minimum}` : '', isBound(maximum) ? ` to ${maximum}` : ''].join('');
}

/** What the public interfaces say, by resource: their words, and of each function its words, its input's fields and its result's keys. */
export function readPublicTypes() {
  const file = path.join(root, 'runtime/admin/contract/admin.ts');
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram([file, path.join(root, 'runtime/storage/sql-modules.d.ts')], options);
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  const admin = checker.getExportsOfModule(module).find(({ name }) => name === 'Admin');
  const wordsOf = (symbol) => ts.displayPartsToString(symbol?.getDocumentationComment(checker)).replaceAll('\n', ' ');
  const propertiesOf = (type) =>
    (type.isUnion() ? type.types : [type]).flatMap((one) => checker.getPropertiesOfType(one));
  const method = (symbol) => {
    const [signature] = checker.getTypeOfSymbol(symbol).getCallSignatures();
    const [parameter] = signature.getParameters();
    const given =
      parameter === undefined ? [] : propertiesOf(checker.getNonNullableType(checker.getTypeOfSymbol(parameter)));
    const result = checker.getAwaitedType(signature.getReturnType());
    const keys = [...new Set(propertiesOf(result).map(({ name }) => name))];
    return {
      words: wordsOf(symbol),
      fields: new Map(given.map((field) => [field.name, wordsOf(field)])),
      result: keys.length > 12 ? [] : keys,
    };
  };
  return new Map(
    checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(admin)).map((resource) => {
      const type = checker.getTypeOfSymbol(resource);
      const methods = checker.getPropertiesOfType(type).map((symbol) => [symbol.name, method(symbol)]);
      return [resource.name, { words: wordsOf(type.getSymbol()), methods: new Map(methods) }];
    }),
  );
}
