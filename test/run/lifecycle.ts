/**
 * Registers work after each test and at the end of each file. Modules of the toolkit register it here, and the root hooks (hooks.ts) run it
 * in every process of the run. A hook that a module of the toolkit declares itself would apply to one file only.
 */
type Work = () => void | Promise<void>;

const afterTests: Work[] = [];
let closings: Work[] = [];

/** Runs the function after every test of the run. Call `afterEveryTest` once, when the module loads. */
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
