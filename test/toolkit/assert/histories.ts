/** Reads the data that Temporal has about a run: its events, its summaries, and all texts in them. */
import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { History, Payload } from '@temporalio/common/lib/proto-utils.js';

type HistoryEvent = NonNullable<History['events']>[number];
type Attributes = Extract<keyof HistoryEvent, `${string}EventAttributes`>;

export function eventsNamed<Name extends Attributes>(history: History, name: Name): NonNullable<HistoryEvent[Name]>[] {
  return (history.events ?? []).flatMap((event) => {
    const attributes = event[name];
    return attributes ? [attributes] : [];
  });
}

/** @returns the static summary of a run, and the names of its timers in order */
export async function summariesOf(handle: WorkflowHandle): Promise<{ run: string | undefined; timers: string[] }> {
  const { events } = await handle.fetchHistory();
  const summaries = (kind: Attributes) =>
    (events ?? []).flatMap((event) => (event[kind] && event.userMetadata?.summary ? [event.userMetadata.summary] : []));
  const [run] = summaries('workflowExecutionStartedEventAttributes').map(textOf);
  return { run, timers: summaries('timerStartedEventAttributes').map(textOf) };
}

function textOf(payload: Payload): string {
  return String(defaultPayloadConverter.fromPayload(payload));
}

/**
 * Returns all data that Temporal has about a run as one text, in which tests search. The text contains the description and the history of
 * the run.
 */
export async function keptOf(handle: WorkflowHandle): Promise<string> {
  const { raw } = await handle.describe();
  return everyText([raw, await handle.fetchHistory()]);
}

/**
 * Returns all texts inside an object of Temporal as one text. It contains each JSON payload unchanged and decoded, because JSON escapes
 * quotes and line ends.
 */
export function everyText(value: unknown, visited = new Set<unknown>()): string {
  if (value instanceof Uint8Array) {
    const text = Buffer.from(value).toString('utf8');
    return `${text}\n${everyText(decoded(text), visited)}`;
  }
  if (typeof value !== 'object' || value === null) return `${String(value)}\n`;
  if (visited.has(value)) return '';
  visited.add(value);
  return Object.entries(value)
    .map(([key, inner]) => `${key}: ${everyText(inner, visited)}`)
    .join('');
}

/** @returns an empty text if the text is not JSON */
function decoded(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return '';
  }
}
