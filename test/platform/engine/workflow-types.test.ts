import { expect } from 'chai';
import { AddOn } from '../../../entities/billing/add-on.ts';
import { Subscription } from '../../../entities/sales/subscription.ts';
import { row, runOf, summaryOf, taskQueueOf, workflowIdOf } from '../../../platform/engine/workflow-types.ts';

const complete = { id: 'toy', taskQueue: 'mail', attributes: { ClubId: 'clubId' }, summary: 'a toy' } as const;
const due = [{ at: 'nextAttemptAt', where: null, leased: true }] as const;

describe('the table of workflow types', () => {
  it('does not compile if a due query is missing, a column is misspelt or a queue is unknown', () => {
    const rows = [
      row(AddOn, { ...complete, due }),
      // @ts-expect-error no due query
      row(AddOn, complete),
      // @ts-expect-error an empty list of queries
      row(AddOn, { ...complete, due: [] }),
      // @ts-expect-error no such column
      row(AddOn, { ...complete, due: [{ at: 'nextAttempt', where: null, leased: true }] }),
      // @ts-expect-error a column that is not a time
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

  it('derives the workflow id and the search attributes from the row', () => {
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

  it('requires the columns of the key and of the search attributes', () => {
    // @ts-expect-error the agent is missing
    runOf('agentAnswer', { questionId: 'q', clubId: 'c' });
    // @ts-expect-error the key is the question
    runOf('agentAnswer', { id: 'q', clubId: 'c', agentId: 'a' });
    const { attributes, ...run } = runOf('transactionalMail', { id: 'm', clubId: null, priority: 2 });
    expect(attributes).to.deep.equal({});
    expect(taskQueueOf(run)).to.equal('bulk-mail');
    expect(taskQueueOf({ ...run, priority: 1 })).to.equal('mail');
  });
});
