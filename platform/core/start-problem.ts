/** A reason why the process cannot start. The operator can solve the problem, and the message says how. */
export class StartProblem extends Error {}

export class StartProblems extends StartProblem {
  readonly problems: readonly string[];

  constructor(sentences: readonly string[]) {
    const problems = sentences.map((sentence) => sentence.replace(/\.$/, ''));
    super(
      problems.length === 1
        ? `${problems[0]}.`
        : `${problems.length} things are wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}
