/** Where workers tell API processes that answers have grown or ended: a NOTIFY without payload, after the commit. */
export const answersChannel = 'agent_answers';
