import { NodeConnectionTypes } from 'n8n-workflow';

import type { OutputFormat } from '../../../runtime/host';
import type { Item, Library } from '../../shared/item';
import { typedSetting } from '../read/settings';
import { isToolVariant } from '../read/tool-variant';
import { toJsonSchema } from './connected-tools';

type Parse = OutputFormat['parse'];

/** An output parser of n8n, as far as it is looked at here: an object of LangChain, or one with the same properties. */
interface HostParser {
  /** n8n's own parser gives its error to the third argument, and throws what that makes of it. */
  readonly parse: (text: string, callbacks: undefined, mapError: (error: unknown) => unknown) => Promise<unknown>;
  readonly getSchema?: () => object | undefined;
  readonly getFormatInstructions?: () => string;
}

/**
 * The form that the answer must have: by the schema of the node, else by the parser that is wired to it. Undefined
 * where none is asked for. Rejects with OUTPUT_FORMAT_INVALID.
 */
export async function readOutputFormat(item: Item): Promise<OutputFormat | undefined> {
  const { context, library, index } = item;
  // Both take no expression, so n8n need not be asked.
  const node = context.getNode();
  const inputMode = typedSetting(node, 'inputMode') ?? 'fields';
  if (node.parameters.hasOutputParser !== true || inputMode !== 'fields') return undefined;
  const schema: unknown = context.getNodeParameter('outputSchema', index, '');
  if (schema !== '' && schema !== null && schema !== undefined) return library.schemaFormat(schema);
  const parser: unknown = isToolVariant(context)
    ? undefined
    : await context.getInputConnectionData(NodeConnectionTypes.AiOutputParser, index);
  return parserFormat(parser, library);
}

function parserFormat(parser: unknown, library: Library): OutputFormat {
  const invalid = (reason: string): Error => new library.RuntimeError('OUTPUT_FORMAT_INVALID', { reason });
  if (parser === undefined) throw invalid('there is neither a schema nor a connected output parser');
  if (!isHostParser(parser)) throw invalid('what is connected is no output parser');
  const given = parser.getSchema?.();
  if (given === undefined) return textFormat(parser, library);
  const schema = toJsonSchema(given);
  if (schema === undefined) throw invalid('the schema of the connected output parser cannot be read');
  return library.outputFormat(schema, ({ text, isCall }) => parseWith(parser, isCall ? [text] : wrappings(text)));
}

function isHostParser(given: unknown): given is HostParser {
  return typeof given === 'object' && given !== null && typeof (given as Partial<HostParser>).parse === 'function';
}

/** The schema for parsers that have none, such as those of lists. */
const TEXT_SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
  $schema: 'http://json-schema.org/draft-07/schema#',
};

function textFormat(parser: HostParser, library: Library): OutputFormat {
  const parse: Parse = ({ text, isCall }) => parseWith(parser, [isCall ? textOf(text) : text]);
  const format = library.outputFormat(TEXT_SCHEMA, parse);
  const instructions = parser.getFormatInstructions?.() ?? '';
  return instructions === '' ? format : { ...format, instructions: `${format.instructions}\n\n${instructions}` };
}

function textOf(given: string): string {
  const parsed = tryParse(given) as { readonly text?: unknown } | null | undefined;
  return typeof parsed?.text === 'string' ? parsed.text : given;
}

/** n8n's parser expects the answer under `output`, where models that answer with a text seldom put it. */
function wrappings(text: string): readonly string[] {
  const parsed = tryParse(text);
  if (parsed === undefined || (isObject(parsed) && 'output' in parsed && Object.keys(parsed).length === 1))
    return [text];
  return [JSON.stringify({ output: parsed }), text];
}

/** Undefined for what is no JSON. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first of the texts that the parser takes; else what is wrong with the first one. */
async function parseWith(parser: HostParser, texts: readonly string[]): ReturnType<Parse> {
  let issues: string | undefined;
  for (const text of texts) {
    try {
      return { ok: true, value: valueOf(await parser.parse(text, undefined, (error) => error)) };
    } catch (error) {
      issues ??= describe(error);
    }
  }
  return { ok: false, issues: issues ?? 'it cannot be read' };
}

type Value = Extract<Awaited<ReturnType<Parse>>, { ok: true }>['value'];

/** What stands under `output`, as n8n's AI Agent gives it on. */
function valueOf(parsed: unknown): Value {
  const value = isObject(parsed) ? (parsed.output ?? parsed) : parsed;
  return JSON.parse(JSON.stringify(value ?? null)) as Value;
}

interface ParserError {
  readonly message?: unknown;
  readonly description?: unknown;
  /** The issues of a zod error. */
  readonly issues?: readonly { readonly path?: readonly unknown[]; readonly message?: unknown }[];
}

/** Says to the model what it is to do better. */
function describe(error: unknown): string {
  const { message, issues } = error as ParserError;
  if (!Array.isArray(issues)) return String(message ?? error);
  return issues
    .map(
      ({ path = [], message: text }: { path?: readonly unknown[]; message?: unknown }) =>
        `${path.join('.') || 'the answer'}: ${String(text)}`,
    )
    .join('; ');
}
