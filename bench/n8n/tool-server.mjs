// What the tools of every subject call, in a process of its own. Only a call with all the arguments that the model
// wrote counts, so that a subject that loses them, or makes no call at all, is found out.
import { createServer } from 'node:http';

import { TOOL_STEPS, toolArguments, toolName } from '../loop/scenario.mjs';
import { readText, sendJson, serve } from './server-process.mjs';

const counts = { calls: 0, faults: 0 };
let lastFault = '';
const expected = Array.from({ length: TOOL_STEPS }, (_, step) => [toolName(step), toolArguments(step)]);

function isExpected({ tool, arguments: input }) {
  const [, wanted] = expected.find(([name]) => name === tool) ?? [];
  return (
    wanted !== undefined &&
    input?.order_id === wanted.order_id &&
    input.limit === wanted.limit &&
    String(input.fields) === String(wanted.fields)
  );
}

const server = createServer(async (request, response) => {
  const text = await readText(request);
  const call = JSON.parse(text);
  if (isExpected(call)) {
    counts.calls += 1;
  } else {
    counts.faults += 1;
    lastFault = text;
  }
  const parcel = { carrier: 'post', events: 3 };
  sendJson(response, 200, { order_id: call.arguments?.order_id, status: 'shipped', total: '19.90', parcel });
});
serve(server, () => ({ ...counts, lastFault }));
