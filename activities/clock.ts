/**
 * The time of a step. A workflow's clock stands where its task was scheduled, so a step that waited in a queue, or is
 * repeated after an outage, would reckon from the past: the later of the two clocks is right in both cases, and in
 * tests, where workflow time runs ahead.
 */
export function timeOfStep(workflowNow: number): number {
  return Math.max(workflowNow, Date.now());
}
