import { expect } from 'chai';
import { AddOn } from '../../../entities/billing/add-on.ts';
import { Subscription } from '../../../entities/sales/subscription.ts';
import { row, runOf, summaryOf, workflowIdOf } from '../../../platform/engine/workflow-types.ts';

const complete = { id: 'toy', taskQueue: 'mail', attributes: { ClubId: 'clubId' }, summary: 'a toy' } as const;
const due = [{ at: 'nextAttemptAt', where: null, leased: true }] as const;

describe('the table of workflow types', () => {
  it('does not compile without a due query, with a misspelt column or with an unknown queue', () => {
    const rows = [
      row(AddOn, { ...complete, due }),
      // @ts-expect-error nothing says which rows are due
      row(AddOn, complete),
      // @ts-expect-error at least one query
      row(AddOn, { ...complete, due: [] }),
      // @ts-expect-error no such column
      row(AddOn, { ...complete, due: [{ at: 'nextAttempt', where: null, leased: true }] }),
      // @ts-expect-error a column that is no time
      row(AddOn, { ...complete, due: [{ at: 'status', where: null, leased: true }] }),
      // @ts-expect-error the table has no lease
      row(Subscription, { ...complete, due: [{ at: 'endLooksAt', where: null, leased: true }] }),
      // @ts-expect-error no such column
      row(AddOn, { ...complete, due, key: 'addOnId' }),
      // @ts-expect-error no such column
      row(AddOn, { ...complete, due, attributes: { ClubId: 'klubId' } }),
      // @ts-expect-error no such search attribute
      row(AddOn, { ...complete, due, attributes: { ClubId: 'clubId', Club: 'clubId' } }),
      // @ts-expect-error no such property
      row(AddOn, { ...complete, due, startEagerly: true }),
      // @ts-expect-error no such queue
      row(AddOn, { ...complete, due, taskQueue: 'toys' }),
    ];
    expect(rows.map(({ key }) => key)).to.include('id');
  });

  it('names a run by its key column, and gives it the search attributes of its row', () => {
    const run = runOf('agentAnswer', { questionId: 'q', clubId: 'c', agentId: 'a' });
    expect(run).to.deep.equal({
      workflowType: 'agentAnswer',
      subjectId: 'q',
      clubId: 'c',
      attributes: { ClubId: 'c', AgentId: 'a' },
    });
    expect([workflowIdOf('agentAnswer', run.subjectId), summaryOf(run)]).to.deep.equal([
      'agent-answer/q',
      'an answer of agent a',
    ]);
  });

  it('needs the columns of key and search attributes to name a run', () => {
    // @ts-expect-error the agent is missing
    runOf('agentAnswer', { questionId: 'q', clubId: 'c' });
    // @ts-expect-error the key is the question
    runOf('agentAnswer', { id: 'q', clubId: 'c', agentId: 'a' });
    expect(runOf('transactionalMail', { id: 'm', clubId: null }).attributes).to.deep.equal({});
  });
});
