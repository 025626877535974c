/** The process cannot start, for a reason that its operator can remove: the message says how. */
export class StartProblem extends Error {}
