/** The process cannot start, for a reason that its operator can mend: the message says how. */
export class StartProblem extends Error {}
