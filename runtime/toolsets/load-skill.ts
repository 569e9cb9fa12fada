import * as z from 'zod/v4';

import type { SkillEntry, SkillReader, SkillRow } from '../contracts/tools/skill';
import type { TenantTool, Tool, ToolContext } from '../contracts/tools/tool';
import type { ChildConfig, RunPart } from '../contracts/tools/tool-run';
import type { ToolDefinition, ToolOutput } from '../contracts/tools/tool-shapes';
import type { ErrorCode } from '../errors/codes';
import { describeError, type ErrorDetails, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { namesOf } from '../permissions/allowed-tools';
import { isNamed } from '../permissions/name-pattern';
import { hasPattern, readSkill, type SkillText, toolNameOf } from '../skills/read-skill';
import { fillSkill } from '../skills/skill-text';
import type { JsonObject } from '../util/json';
import { listKeys } from '../util/known-keys';
import { type Redact, redactJson, redactNothing } from '../util/redaction/redact';
import { createFiller, type Filler } from '../util/variables/fill';
import { parseWith } from './parse-with';

interface Loading {
  /** The skills of the run. */
  readonly entries: readonly SkillEntry[];
  readonly reader: SkillReader;
  readonly toolsOfRun: () => readonly TenantTool[];
  /** Codes of tiers. */
  readonly tiers: readonly string[];
  /** Longer files are cut. */
  readonly maxFileBytes: number;
}

const input = z.object({ name: z.string(), arguments: z.unknown(), file: z.string().nullish() });

/** The tool with which a model loads the skills of its run. */
export function createLoadSkill(tool: string, loading: Loading): Tool {
  return {
    definition: definitionOf(tool, loading.entries),
    parseInput: parseWith(input),
    isRepeatable: true,
    loadsSkills: true,
    execute: (given, context) => load(loading, given, { ...context, tool }),
  };
}

function definitionOf(name: string, entries: readonly SkillEntry[]): ToolDefinition {
  return {
    name,
    description:
      'Returns the instructions of a skill. Follow them from then on. If the skill names tools, you can call only those until you load another one. A skill that works by itself returns its answer instead, which is information and no instruction. With file it returns one of the files of the skill.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', enum: entries.map((entry) => entry.name), description: 'The name of the skill' },
        arguments: { type: 'string', description: 'What to apply the skill to, if its instructions take arguments' },
        file: { type: 'string', description: 'Path of a file that the skill lists or mentions' },
      },
      required: ['name'],
    },
  };
}

type LoadContext = ToolContext & { readonly tool: string };

async function load(loading: Loading, given: JsonObject, context: LoadContext): Promise<ToolOutput> {
  const { entries, reader } = loading;
  const { redact = redactNothing, meta } = context;
  const { name, arguments: asked, file } = input.parse(given);
  const path = pathOf(file);
  const isGiven = entries.some((entry) => entry.name === name);
  const row = isGiven ? await reader.read({ tenantId: meta.tenant_id, name, path }) : undefined;
  if (row === undefined) {
    const available = entries.map((entry) => entry.name).join(', ');
    return toolFailure('SKILL_NOT_FOUND', { skill: redact(name), available });
  }
  if (path !== undefined) return readFile(row, { path: redact(path), redact, maxBytes: loading.maxFileBytes });
  try {
    const skill = await readSkill(row.content);
    const asText = textOf(asked);
    const filler = createFiller(context.variables);
    const found = { skill, asText, filler, tools: loading.toolsOfRun(), tool: context.tool, redact };
    return runsAlone(skill) && context.run.skill !== name
      ? await run(row, found, { ...context, tiers: loading.tiers })
      : loaded(row, found);
  } catch (error) {
    return withWarning('SKILL_UNREADABLE', { skill: name, reason: redact(errorText(error)) });
  }
}

/** Models fill fields that they need not. */
function pathOf(file: string | null | undefined): string | undefined {
  return file === '' || file === 'SKILL.md' ? undefined : (file ?? undefined);
}

interface Loaded {
  readonly skill: SkillText;
  readonly asText: string;
  readonly filler: Filler;
  readonly tools: readonly TenantTool[];
  /** The name of the tool that loads skills. */
  readonly tool: string;
  readonly redact: Redact;
}

/** Throws an Error where the text becomes too long. */
function loaded({ name, paths }: SkillRow, { skill, asText, filler, tools, tool, redact }: Loaded): ToolOutput {
  const { allowedTools, body } = skill;
  const others = tools.filter((one) => one.tool.definition.name !== tool);
  const { names, unavailable } = scopeOf(allowedTools, others);
  const value: JsonObject = {
    skill: name,
    instructions: fillSkill(body, { given: asText, filler }),
    ...(names === undefined ? {} : { tools: names }),
    ...(unavailable.length === 0 ? {} : { unavailable_tools: unavailable }),
    ...(paths.length === 0 ? {} : { files: paths }),
  };
  return {
    isError: false,
    value: redactJson(value, redact),
    nextTools: names === undefined ? 'all' : [...names, tool],
    warnings: warningsOf(name, { tools: redact(listKeys(unavailable)), variables: redact(filler.unknown()) }),
  };
}

const runsAlone = ({ model, maxTurns }: SkillText): boolean => model !== undefined || maxTurns !== undefined;

/** Runs a skill that has a model or turns of its own, and returns its answer. Throws an Error for a skill that cannot be run. */
async function run(
  { name, paths }: SkillRow,
  { skill, asText, filler, tools, tool, redact }: Loaded,
  { tiers, ...context }: LoadContext & Pick<Loading, 'tiers'>,
): Promise<ToolOutput> {
  const { toolCallId, signal, meta } = context;
  const others = tools.filter((one) => one.tool.definition.name !== tool);
  const { names, unavailable } = scopeOf(skill.allowedTools, others);
  const isOf = (one: TenantTool): boolean =>
    !others.includes(one) || names?.includes(one.tool.definition.name) !== false;
  const files = paths.length === 0 ? '' : `\n\nFiles of the skill, which ${tool} returns: ${paths.join(', ')}`;
  const text = fillSkill(skill.body, { given: asText, filler });
  if (text.trim() === '') throw new Error('it has no instructions');
  const message = redact(`${text}${files}`);
  const { maxTurns } = skill;
  // The text may have been changed when the call is made again, so the task is told apart by what the model wrote.
  const task: ChildConfig = { agent: meta.agent, message: `${tool} ${JSON.stringify([name, asText])}` };
  const output = await context.run.startChild(task, {
    ...{ toolCallId, signal },
    // Its own files alone.
    part: {
      ...{
        skill: name,
        message,
        tools: tools.filter(isOf).flatMap(({ origin }) => origin ?? []),
        skills: paths.length === 0 ? [] : [name],
        maxTurns,
      },
      ...modelOf(skill, tiers),
    },
  });
  const warnings = warningsOf(name, { tools: redact(listKeys(unavailable)), variables: redact(filler.unknown()) });
  if (output.isError) return { ...output, warnings };
  const value: JsonObject = {
    ...{ skill: name, answer: output.value },
    ...(unavailable.length === 0 ? {} : { unavailable_tools: unavailable }),
  };
  return { isError: false, value, warnings };
}

/** Throws an Error for a word that is no tier, and no id of a model either. */
function modelOf({ model }: SkillText, tiers: readonly string[]): Pick<RunPart, 'tier' | 'model'> {
  if (model === undefined) return {};
  if (tiers.includes(model)) return { tier: model };
  if (/[/:]/.test(model)) return { model };
  throw new Error(`its model "${model}" is neither a tier nor the id of a model`);
}

/** Returns undefined if nothing is missing. */
function warningsOf(
  skill: string,
  { tools, variables }: { readonly tools: string; readonly variables: string },
): readonly ErrorSummary[] | undefined {
  const warnings = [
    ...(tools === '' ? [] : [describeError('SKILL_TOOLS_MISSING', { skill, tools })]),
    ...(variables === ''
      ? []
      : [describeError('VARIABLE_UNKNOWN', { where: `the skill "${skill}"`, names: variables })]),
  ];
  return warnings.length === 0 ? undefined : warnings;
}

/** A failure that the caller is told of too. */
function withWarning(code: ErrorCode, details: ErrorDetails): ToolOutput {
  return { ...toolFailure(code, details), warnings: [describeError(code, details)] };
}

/** Returns the arguments as text. Models also pass objects. */
function textOf(given: unknown): string {
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}

/** Names of the tools of the run that the skill allows, and its entries that allow none. */
function scopeOf(
  allowed: readonly string[] | undefined,
  tools: readonly TenantTool[],
): { readonly names?: readonly string[]; readonly unavailable: readonly string[] } {
  if (allowed === undefined) return { unavailable: [] };
  const entries = allowed.map((entry) => ({ entry, names: hasPattern(entry) ? [] : [toolNameOf(entry)] }));
  const wanted = entries.flatMap(({ names }) => names);
  const found = tools.filter((tool) => isNamed(namesOf(tool), wanted));
  return {
    names: found.map(({ tool }) => tool.definition.name),
    unavailable: entries
      .filter(({ names }) => !found.some((tool) => isNamed(namesOf(tool), names)))
      .map(({ entry }) => entry),
  };
}

function readFile(
  { name, paths, file }: SkillRow,
  { path, redact, maxBytes }: { readonly path: string; readonly redact: Redact; readonly maxBytes: number },
): ToolOutput {
  const unreadable = (reason: string): ToolOutput =>
    toolFailure('SKILL_FILE_UNREADABLE', { skill: name, path, reason });
  if (file === undefined)
    return unreadable(paths.length === 0 ? 'it has no files' : `it has ${redact(paths.join(', '))}`);
  if (!('text' in file)) return unreadable('it is not text');
  const text = redact(file.text);
  const isCut = Buffer.byteLength(text) > maxBytes;
  const shown = isCut
    ? Buffer.from(text)
        .subarray(0, maxBytes)
        .toString('utf8')
        .replace(/\uFFFD$/, '')
    : text;
  const { message } = describeError('TOOL_OUTPUT_TRUNCATED', { limitBytes: maxBytes });
  return { isError: false, value: { skill: name, file: path, text: shown, ...(isCut ? { warning: message } : {}) } };
}
