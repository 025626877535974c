import { expect } from 'chai';
import fc from 'fast-check';
import { assignmentRules, datesInForce, isClosed, isLate } from '../../../domain/assignments/assignments.policy.ts';

const at = (time: number) => new Date(time);
const none = { dueAt: null, closesAt: null };

describe('dates of assignments', () => {
  it('ignore an extension that ends before the deadline (ASG-7)', () => {
    const own = { dueAt: at(10), closesAt: at(20) };
    expect(datesInForce(own)).to.deep.equal(own);
    expect(datesInForce(own, none)).to.deep.equal(own);
    expect(datesInForce(own, { dueAt: at(5), closesAt: at(6) })).to.deep.equal(own);
    expect(datesInForce(own, { dueAt: at(15), closesAt: null })).to.deep.equal({ dueAt: at(15), closesAt: at(20) });
  });

  it('move the closing time to the extended deadline if that deadline is later', () => {
    const own = { dueAt: at(10), closesAt: at(20) };
    expect(datesInForce(own, { dueAt: at(30), closesAt: null })).to.deep.equal({ dueAt: at(30), closesAt: at(30) });
    expect(datesInForce(own, { dueAt: at(30), closesAt: at(25) }).closesAt).to.deep.equal(at(30));
  });

  it('apply to at most 20 assignments of each lesson', () => {
    expect(assignmentRules).to.deep.equal({ maxOfLesson: 20 });
  });

  it('are absent if the assignment has no dates, even if the student has an extension', () => {
    expect(datesInForce(none, { dueAt: at(5), closesAt: at(6) })).to.deep.equal(none);
  });

  it('never become earlier through an extension', () => {
    const date = fc.option(fc.nat({ max: 50 }).map(at));
    const dates = fc.record({ dueAt: date, closesAt: date });
    fc.assert(
      fc.property(dates, dates, (own, extension) => {
        fc.pre(own.dueAt === null || own.closesAt === null || own.dueAt <= own.closesAt);
        const { dueAt, closesAt } = datesInForce(own, extension);
        for (const [before, after] of [
          [own.dueAt, dueAt],
          [own.closesAt, closesAt],
        ] as const)
          expect((before === null) === (after === null) && Number(after) >= Number(before)).to.equal(true);
        if (dueAt !== null && closesAt !== null) expect(dueAt <= closesAt).to.equal(true);
      }),
    );
  });

  it('close the assignment at the exact millisecond of the closing time (ASG-6)', () => {
    const dates = { dueAt: null, closesAt: at(20) };
    expect([19, 20, 21].map((time) => isClosed(dates, at(time)))).to.deep.equal([false, true, true]);
    expect(isClosed(none, at(20))).to.equal(false);
  });

  it('make work late only if it was sent after the deadline (ASG-8)', () => {
    const lateAt = (hour: number, due: number | null, now: number | null = due) =>
      isLate({ sentAt: at(hour), dueAt: due === null ? null : at(due) }, now === null ? null : at(now));
    expect([9, 10, 11].map((hour) => lateAt(hour, 10))).to.deep.equal([false, false, true]);
    expect(lateAt(10, 10, 5), 'work that was sent in time does not become late through an earlier deadline').to.equal(
      false,
    );
    expect(lateAt(10, 5, 10), 'work that was sent exactly at the later deadline is not late').to.equal(false);
    expect(lateAt(11, 10, 12), 'late work is no longer late after the deadline has become later').to.equal(false);
    expect(lateAt(9, 10, 5), 'work that was sent in time stays in time after an earlier deadline').to.equal(false);
    expect(lateAt(9, null, 5), 'a deadline that was added later makes no work late').to.equal(false);
    expect(lateAt(11, 10, null), 'a deadline that was removed makes no work late').to.equal(false);
  });
});
