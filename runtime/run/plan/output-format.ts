import type { GivenAnswer, OutputFormat, ParsedOutput } from '../../contracts/connected';
import type { Agent } from '../../contracts/tenant';
import type { CheckedFor } from '../../contracts/tools/tool';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { compileSchema, type SchemaCheck } from '../../tools/schemas/validate-input';
import {
  isDeeperThan,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
  tryParseJson,
} from '../../util/json';
import { findJson } from '../../util/text/find-json';

// The name is that of n8n's AI Agent, which prompts of builders may speak of.
const TOOL_NAME = 'format_final_json_response';
const TOOL_DESCRIPTION =
  'Gives your final answer, in the form that its parameters describe. Call it once, when nothing is left to find out; it ends the task, so it is neither for steps on the way nor for questions.';
const INSTRUCTIONS = `Your final answer must be a call of the tool ${TOOL_NAME} that holds the whole answer. An answer as text, JSON included, is refused.`;

/** A format whose answers somebody else reads. `schema` is that of the arguments that hold the answer: an object. */
export function outputFormat(schema: JsonObject, parse: OutputFormat['parse']): OutputFormat {
  return {
    tool: { name: TOOL_NAME, description: TOOL_DESCRIPTION, inputSchema: schema },
    instructions: INSTRUCTIONS,
    parse,
  };
}

/** Answers that a JSON Schema, given as such or as its text, allows. Throws OUTPUT_FORMAT_INVALID. */
export function schemaFormat(given: unknown): OutputFormat {
  const schema = readSchema(given);
  const issuesOf = compile(schema);
  const isWrapped = schema.type !== 'object';
  const check = async (value: JsonValue, checkedFor?: CheckedFor): Promise<ParsedOutput> => {
    const issues = await issuesOf(value, checkedFor);
    return issues === undefined ? { ok: true, value } : { ok: false, issues };
  };
  return outputFormat(isWrapped ? wrap(schema) : schema, (answer, checkedFor) =>
    firstValid(valuesOf(answer, isWrapped), (value) => check(value, checkedFor)),
  );
}

function readSchema(given: unknown): JsonObject {
  const parsed = typeof given === 'string' ? tryParseJson(given) : { ok: true as const, value: given };
  if (!parsed.ok) throw invalid(`the schema is not valid JSON (${parsed.reason})`);
  if (!isJsonObject(parsed.value)) throw invalid('the schema is not a JSON object');
  if (isDeeperThan(parsed.value, MAX_JSON_DEPTH)) throw invalid(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
  return parsed.value;
}

function compile(schema: JsonObject): SchemaCheck {
  try {
    return compileSchema(schema, 'the answer');
  } catch (error) {
    throw invalid(errorText(error));
  }
}

function invalid(reason: string): RuntimeError {
  return new RuntimeError('OUTPUT_FORMAT_INVALID', { reason });
}

/** Arguments are an object, so an answer of another kind stands in one. What it refers to stays where it is looked for. */
function wrap({ $schema: _dialect, $defs, definitions, ...schema }: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: { output: schema },
    required: ['output'],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

/** What an answer may mean, in the order in which it is tried. In a text the value may stand between words. */
function* valuesOf({ text, isCall }: GivenAnswer, isWrapped: boolean): Generator<JsonValue> {
  for (const value of isCall ? argumentsOf(text) : findJson(text)) {
    if (isWrapped && isJsonObject(value) && value.output !== undefined) yield value.output;
    yield value;
  }
}

function argumentsOf(text: string): readonly JsonValue[] {
  const parsed = tryParseJson(text);
  return parsed.ok ? [parsed.value] : [];
}

async function firstValid(
  values: Iterable<JsonValue>,
  check: (value: JsonValue) => Promise<ParsedOutput>,
): Promise<ParsedOutput> {
  let first: ParsedOutput | undefined;
  for (const value of values) {
    const checked = await check(value);
    if (checked.ok) return checked;
    first ??= checked;
  }
  return first ?? { ok: false, issues: 'it holds no valid JSON' };
}

const formats = new WeakMap<JsonObject, OutputFormat>();

/** The form of an agent's answers. Throws OUTPUT_FORMAT_INVALID. */
export function formatOf(agent: Agent | undefined): OutputFormat | undefined {
  const schema = agent?.outputSchema;
  if (schema === undefined) return undefined;
  const known = formats.get(schema) ?? schemaFormat(schema);
  formats.set(schema, known);
  return known;
}
