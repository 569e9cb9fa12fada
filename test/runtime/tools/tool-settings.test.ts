import type { ToolRow } from '../../../runtime/contracts/tenant';
import { readToolSettings } from '../../../runtime/tools/tool-settings';
import { toolRow } from '../../support/values/memory-stores';

const DEFAULT_TIMEOUT_MS = 30_000;
const read = (row: Partial<ToolRow> = {}) => readToolSettings(toolRow({ code: 'add', ...row }), DEFAULT_TIMEOUT_MS);
const custom = (customConfig: unknown) => read({ customConfig: customConfig as ToolRow['customConfig'] });

it('takes a row as it is', () => {
  const row = { description: 'Adds', endpoint: 'http://a/hook', authHeader: 'Bearer x', timeoutMs: 200 };
  expect(read(row)).toEqual({
    name: 'add',
    description: 'Adds',
    inputSchema: { type: 'object', properties: {} },
    endpoint: 'http://a/hook',
    authHeader: 'Bearer x',
    headers: {},
    timeoutMs: 200,
    config: {},
    allowedHosts: [],
    secrets: [],
    isRepeatable: false,
    mcpTool: 'add',
  });
});

it.each([['bad name!'], [''], ['a.b'], ['x'.repeat(65)], ['naïve'], ['a\u202eb']])('refuses code %p', (code) => {
  expect(() => read({ code })).toThrow('its code must match');
});

describe('the endpoint', () => {
  it.each([
    [null, 'no mcp_endpoint'],
    ['', 'no mcp_endpoint'],
    ['not a url', 'not an http(s) URL'],
    ['file:///etc/passwd', 'not an http(s) URL'],
    ['javascript:alert(1)', 'not an http(s) URL'],
    ['http://user:pass@host/', 'holds a user or password'],
  ])('%p is refused: %s', (endpoint, reason) => {
    expect(() => read({ endpoint })).toThrow(reason);
  });

  it('never shows its password in the reason', () => {
    expect(() => read({ endpoint: 'http://user:CANARY@host/' })).not.toThrow('CANARY');
  });
});

describe('the variable that keeps the result', () => {
  it.each([[{ transportConfig: { store_as: 'order' } }], [{ customConfig: { store_as: 'order' } }]])('is %j', (row) => {
    expect(read(row).storeAs).toBe('order');
  });

  it('can be switched off by the tenant', () => {
    expect(read({ transportConfig: { store_as: 'order' }, customConfig: { store_as: null } }).storeAs).toBeUndefined();
  });

  it.each([[7], ['a b'], ['__proto__'], ['']])('cannot be %j', (name) => {
    expect(() => read({ transportConfig: { store_as: name } })).toThrow('transport_config.store_as cannot be used');
  });
});

describe('the schema', () => {
  const schemaOf = (parametersSchema: unknown, customConfig = {}) =>
    read({ parametersSchema, customConfig }).inputSchema;

  it('may be missing', () => {
    expect(schemaOf(null)).toEqual({ type: 'object', properties: {} });
    expect(schemaOf(undefined)).toEqual({ type: 'object', properties: {} });
  });

  it('may be JSON in a text', () => {
    expect(schemaOf('{"type":"object","properties":{"a":{}}}')).toEqual({ type: 'object', properties: { a: {} } });
  });

  it('passes as it is, the same object', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { enum: [1, 'x'] } } };
    expect(schemaOf(schema)).toBe(schema);
  });

  it.each([[{}], [{ type: 'object' }], [{ properties: {} }]])(
    '%j is completed, since providers refuse it',
    (schema) => {
      expect(schemaOf(schema)).toEqual({ type: 'object', properties: {} });
    },
  );

  it.each([
    ['{"type":', 'not valid JSON'],
    ['[]', 'not a JSON object'],
    [5, 'not a JSON object'],
    [{ type: 'string' }, 'not of type object'],
    [{ type: ['object', 'null'] }, 'not of type object'],
  ])('%j is refused: %s', (schema, reason) => {
    expect(() => schemaOf(schema)).toThrow(reason);
  });
});

describe("the tenant's custom_config", () => {
  it('overrides one by one', () => {
    const row = { endpoint: 'http://a/', authHeader: 'Bearer row', timeoutMs: 100, description: 'Row' };
    const with_ = (customConfig: object) => read({ ...row, customConfig: customConfig as ToolRow['customConfig'] });
    expect(with_({ mcp_endpoint: 'http://b/' })).toMatchObject({ endpoint: 'http://b/', authHeader: 'Bearer row' });
    expect(with_({ auth_header: 'Bearer own' }).authHeader).toBe('Bearer own');
    expect(with_({ timeout_ms: 7 }).timeoutMs).toBe(7);
    expect(with_({ description: 'Own' }).description).toBe('Own');
    expect(with_({ headers: { 'X-API-Key': 'k' } }).headers).toEqual({ 'x-api-key': 'k' });
  });

  it('switches the header off with null', () => {
    expect(read({ authHeader: 'Bearer row', customConfig: { auth_header: null } }).authHeader).toBeUndefined();
  });

  it('may write the Authorization header among the others, which then goes once', () => {
    const settings = read({ authHeader: 'Bearer row', customConfig: { headers: { Authorization: 'Bearer own' } } });
    expect(settings).toMatchObject({ authHeader: 'Bearer own', headers: {} });
  });

  it.each([
    [{ timeout_ms: 'soon' }, 'custom_config.timeout_ms'],
    [{ timeout_ms: -5 }, 'custom_config.timeout_ms'],
    [{ headers: { 'x-key': 5 } }, 'custom_config.headers'],
    [{ headers: 'x-key: 5' }, 'custom_config.headers'],
    [{ mcp_endpoint: 5 }, 'custom_config.mcp_endpoint'],
    [{ permission: {} }, 'custom_config is not valid: it has no key "permission" (did you mean "permissions"?)'],
    [{ fixed_argument: { a: 1 } }, '(did you mean "fixed_arguments"?)'],
    [{ allowedHosts: ['a'] }, '(did you mean "allowed_hosts"?)'],
    [{ note: 'ours' }, 'it has no key "note", only "mcp_endpoint", "auth_header"'],
    [{ transport_config: { repeatble: false } }, 'transport_config is not valid: it has no key "repeatble"'],
  ])('%j is refused by name', (config, field) => {
    expect(() => custom(config)).toThrow(field);
  });

  it('cannot reach a prototype', () => {
    const config: unknown = JSON.parse(
      '{"__proto__":{"mcp_endpoint":"http://evil/"},"constructor":{"prototype":{"polluted":true}},"transport_config":{"__proto__":{"polluted":true},"a":{"constructor":1,"b":1}}}',
    );
    const settings = read({ transport: 'rest', customConfig: config as ToolRow['customConfig'] });
    expect(settings.endpoint).toBe('http://127.0.0.1:9/hook');
    expect(JSON.stringify(settings.config)).toBe('{"a":{"b":1}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('may hold rules, which are read with the others', () => {
    expect(custom({ permissions: { decision: 'ask' }, fixed_arguments: { a: 1 } }).name).toBe('add');
  });

  it('that names a vault secret is refused as long as there is no vault', () => {
    expect(() => custom({ auth_header: 'vault:CRM' })).toThrow('no vault');
  });
});

describe('the time-out', () => {
  it.each([
    [null, DEFAULT_TIMEOUT_MS],
    [0, DEFAULT_TIMEOUT_MS],
    [-1, DEFAULT_TIMEOUT_MS],
    [200, 200],
    [1e12, 600_000],
  ])('of %p in the row is %i ms', (timeoutMs, expected) => expect(read({ timeoutMs }).timeoutMs).toBe(expected));
});
