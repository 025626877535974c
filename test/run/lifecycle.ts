/**
 * What has to happen after each test and at the end of each file. Modules of the toolkit say it here; the root hooks
 * (hooks.ts) do it, in every process of the run. A hook that such a module declares itself would hold for one file only.
 */
type Work = () => void | Promise<void>;

const afterTests: Work[] = [];
let closings: Work[] = [];

/** Does this after every test of the run. Call it once, when the module loads. */
export function afterEveryTest(work: Work): void {
  afterTests.push(work);
}

/** Does this once, at the end of the file that runs now. The last that was said is done first. */
export function atEndOfFile(work: Work): void {
  closings.unshift(work);
}

/** For the root hooks. */
export async function testEnded(): Promise<void> {
  for (const work of afterTests) await work();
}

/** For the root hooks. */
export async function fileEnded(): Promise<void> {
  const works = closings;
  closings = [];
  for (const work of works) await work();
}
