// A parameter of a node's panel, from a key's JSON Schema and what its metadata says of the panel.

/**
 * What metadata may say of a key beside JSON Schema's own words: runtime/admin/operation.ts and
 * runtime/contracts/task-options.ts tell what each means.
 */
const KNOWN = [
  'tenant',
  'secret',
  'title',
  'description',
  'placeholder',
  'picker',
  'group',
  'initial',
  'names',
  'panel',
  'rows',
  ...['none', 'whole', 'any'],
  ...['guards', 'flag', 'node', 'inSettings', 'inTier', 'standard', 'least', 'most', 'precision'],
];
/**
 * Pickers by the kind of what is picked: the method, and what it depends on. The code of a tool is a text in Create: when the
 * operation changes in an open panel, n8n loads a list of the same name only if that depends on the operation.
 */
const PICKERS = {
  tier: { loadOptionsMethod: 'getTiers' },
  tool: { loadOptionsMethod: 'getTools', loadOptionsDependsOn: ['operation'] },
  model: { loadOptionsMethod: 'getModels' },
  agent: { loadOptionsMethod: 'getAgents', loadOptionsDependsOn: ['tenantId.value'] },
  skill: { loadOptionsMethod: 'getSkills', loadOptionsDependsOn: ['tenantId.value'] },
  tenantTool: { loadOptionsMethod: 'getTenantTools', loadOptionsDependsOn: ['tenantId.value'] },
};

/** Returns the main choice of a key, without null and constants, and everything declared of the key. */
export function mainOf(key, property) {
  const choices = property.anyOf?.filter(({ type, const: only }) => type !== 'null' && only === undefined) ?? [
    property,
  ];
  const main = choices.find(({ anyOf }) => anyOf !== undefined)?.anyOf ?? choices;
  const chosen = main.find(({ type }) => type === 'number') ?? main[0];
  const meta = { ...chosen.items, ...chosen, ...property };
  const unknown = Object.keys(property).find((name) => !KNOWN.includes(name) && !JSON_SCHEMA.includes(name));
  if (unknown !== undefined) throw new Error(`${key}: there is no metadata ${unknown}.`);
  return { main: chosen, meta };
}

const JSON_SCHEMA = [
  ...['type', 'format', 'pattern', 'enum', 'const', 'items', 'properties', 'additionalProperties', 'propertyNames'],
  ...[
    'anyOf',
    'allOf',
    'default',
    'readOnly',
    'required',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
  ],
  ...['multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems', 'prefixItems', 'minProperties', 'maxProperties'],
];

/** The parameter of a key, from `mainOf` it. */
export function toProperty(key, { main, meta, required = false, words = '' }) {
  const isMany = main.type === 'array';
  const { kind, ...shape } = SHAPES.find(({ fits }) => fits(main, meta)).of(main, { ...meta, key });
  const { picker, title = titleOf(key), secret, rows } = meta;
  const property = {
    displayName: picker === undefined ? title : `${title} ${isMany ? 'Names or IDs' : 'Name or ID'}`,
    name: key,
    type: kind,
    typeOptions: filled({ password: secret, rows, ...shape.typeOptions }),
    // A word is always chosen.
    required: (required && main.enum === undefined) || undefined,
    options: shape.options,
    default: meta.initial ?? shape.initial,
    placeholder: placeholderOf(meta),
    description: descriptionOf({ ...meta, kind, words, isMany }) || undefined,
  };
  return filled(property);
}

/** Without what is undefined; itself undefined if nothing is left. */
function filled(object) {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function placeholderOf({ picker, placeholder }) {
  if (picker !== undefined || placeholder === undefined) return undefined;
  return placeholder.startsWith('{ "') ? placeholder : `e.g. ${placeholder}`;
}

const SHAPES = [
  {
    fits: (_main, { picker }) => picker !== undefined,
    of: ({ type }, { picker }) => ({
      kind: type === 'array' ? 'multiOptions' : 'options',
      typeOptions: PICKERS[picker],
      initial: type === 'array' ? [] : '',
    }),
  },
  {
    fits: ({ items }) => items?.enum !== undefined,
    of: ({ items }, meta) => ({
      kind: 'multiOptions',
      options: optionsOf(items.enum, meta),
      initial: meta.default ?? [],
    }),
  },
  {
    fits: (main) => main.enum !== undefined,
    of: (main, meta) => {
      const options = optionsOf(main.enum, meta);
      return { kind: 'options', options, initial: meta.default ?? options[0].value };
    },
  },
  {
    fits: ({ type }) => type === 'boolean',
    of: (_main, meta) => ({ kind: 'boolean', initial: meta.default ?? false }),
  },
  {
    fits: ({ type }) => type === 'integer' || type === 'number',
    of: ({ minimum }, meta) => ({
      kind: 'number',
      typeOptions: { minValue: meta.least ?? minimum, maxValue: mostOf(meta), numberPrecision: meta.precision },
      initial: meta.default ?? minimum ?? 0,
    }),
  },
  {
    fits: ({ type, items }) => type === 'array' && items?.type !== 'object',
    of: () => ({ kind: 'string', typeOptions: { multipleValues: true }, initial: [] }),
  },
  { fits: ({ type }) => type === 'string', of: () => ({ kind: 'string', initial: '' }) },
  { fits: () => true, of: () => ({ kind: 'json', initial: '{}' }) },
];

/** Returns undefined for a maximum that nobody reaches, and for a limit, where n8n wants none. */
function mostOf({ key, maximum = Infinity, most = maximum }) {
  return most >= 1_000_000 || key === 'limit' ? undefined : most;
}

/** `names` choose among the words, and may describe one: `waiting: ['Waiting', 'For an approval']`. */
function optionsOf(words, { names = Object.fromEntries(words.map((word) => [word, titleOf(word)])) }) {
  return Object.entries(names)
    .map(([value, name]) => {
      const [shown, description] = [name].flat();
      return filled({ name: shown, value, description });
    })
    .sort(byName);
}

const byName = (one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1);

const BY_EXPRESSION = 'using an <a href="https://docs.n8n.io/code/expressions/">expression</a>';

function descriptionOf({ description, kind, words, picker, isMany }) {
  // n8n wants those of a boolean to begin with Whether.
  const told = description ?? (kind === 'boolean' && !words.startsWith('Whether') ? '' : withoutPeriod(words));
  if (picker === undefined) return told;
  const choose = `Choose from the list, or specify ${isMany ? 'IDs' : 'an ID'} ${BY_EXPRESSION}`;
  return told === '' ? choose : `${told.replace(/[.]$/, '')}. ${choose}.`;
}

const withoutPeriod = (words) => (words.split('. ').length === 1 ? words.replace(/[.]$/, '') : words);

const CAPITALS = { Id: 'ID', Url: 'URL', Csv: 'CSV', Json: 'JSON', Mcp: 'MCP' };

/** `userId` is User ID. */
export function titleOf(key) {
  const words = key.match(/\d+[A-Za-z]|[A-Z]?[a-z]+/g) ?? [key];
  return words
    .map((word) => `${word[0].toUpperCase()}${word.slice(1)}`)
    .map((word) => CAPITALS[word] ?? word)
    .join(' ');
}
