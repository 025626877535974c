/** Reads the rows and the cost of an answer, so that tests can check them. */
import { expect } from 'chai';
import type { Id } from '../../../platform/core/ids.ts';
import { AgentAnswerDelta } from '../../../entities/agents/agent-answer-delta.ts';
import { AgentAnswer } from '../../../entities/agents/agent-answer.ts';
import { AgentCall } from '../../../entities/agents/agent-call.ts';
import { AgentCharge } from '../../../entities/agents/agent-charge.ts';
import { AgentCitation } from '../../../entities/agents/agent-citation.ts';
import { ClubAiMonth } from '../../../entities/agents/club-ai-month.ts';
import { testDatabase } from '../stack/database.ts';

export async function answerRow(answerId: Id): Promise<AgentAnswer> {
  return (await testDatabase()).manager.findOneByOrFail(AgentAnswer, { id: answerId });
}

export async function callRows(answerId: Id): Promise<AgentCall[]> {
  return (await testDatabase()).manager.find(AgentCall, { where: { answerId }, order: { callNo: 'ASC' } });
}

export async function chargeRow(answerId: Id): Promise<AgentCharge> {
  return (await testDatabase()).manager.findOneByOrFail(AgentCharge, { answerId });
}

export async function citationRows(answerId: Id): Promise<AgentCitation[]> {
  return (await testDatabase()).manager.find(AgentCitation, { where: { answerId }, order: { position: 'ASC' } });
}

/** The amounts of the club's only budget month, in millionths of a US dollar. */
export async function monthOf(clubId: Id): Promise<{ spent: number; reserved: number }> {
  const month = await (await testDatabase()).manager.findOneByOrFail(ClubAiMonth, { clubId });
  return { spent: Number(month.spentMicros), reserved: Number(month.reservedMicros) };
}

/**
 * Expects that the answer is settled with this cost, in millionths of a US dollar. Also expects that the club's budget of the month has no
 * reserve.
 */
export async function expectSettled({ answerId, clubId }: { answerId: Id; clubId: Id }, cost: number): Promise<void> {
  const { costMicros, settledAt } = await chargeRow(answerId);
  expect(Number(costMicros)).to.equal(cost);
  expect(settledAt).to.be.instanceOf(Date);
  expect(await monthOf(clubId)).to.deep.equal({ spent: cost, reserved: 0 });
}

/** Returns the text of an answer's log, which consists of the texts of all entries. */
export async function logOf(answerId: Id): Promise<string> {
  const deltas = await (
    await testDatabase()
  ).manager.find(AgentAnswerDelta, {
    where: { answerId },
    order: { startsAt: 'ASC' },
  });
  let text = '';
  for (const delta of deltas) {
    const length = Array.from(text).length;
    if (delta.startsAt !== length) throw new Error(`An entry begins at ${delta.startsAt}, after ${length} characters.`);
    text += delta.text;
  }
  return text;
}
