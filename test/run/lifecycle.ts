/**
 * Registers functions that run after each test or at the end of each file. The root hooks (hooks.ts) run these functions in every process
 * of the test run. If a module of the toolkit declared a hook, the hook would run for one test file only.
 */
type Work = () => void | Promise<void>;

const afterTests: Work[] = [];
let closings: Work[] = [];

/** Runs the function after every test of the run. A module calls `afterEveryTest` once, when the module loads. */
export function afterEveryTest(work: Work): void {
  afterTests.push(work);
}

/** Runs the function once, at the end of the current file. The last registered function runs first. */
export function atEndOfFile(work: Work): void {
  closings.unshift(work);
}

/** Called by the root hooks. */
export async function testEnded(): Promise<void> {
  for (const work of afterTests) await work();
}

/** Called by the root hooks. */
export async function fileEnded(): Promise<void> {
  const works = closings;
  closings = [];
  for (const work of works) await work();
}
