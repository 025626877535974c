import { expect } from 'chai';
import {
  answerRules,
  endOf,
  errorAfterBegin,
  estimatedTokens,
  nextCallAt,
} from '../../../../domain/agents/answers/answers.policy.ts';
import { retryAfterMsOf } from '../../../../platform/infra/model/model.ts';

const second = 1_000;

describe('rules of a generated answer', () => {
  it('give model_silent for a silent stream, and interrupted for other broken streams', () => {
    expect(errorAfterBegin('silent')).to.equal('model_silent');
    expect(errorAfterBegin('overloaded')).to.equal('interrupted');
  });

  for (const [reason, status] of [
    ['end_turn', 'complete'],
    ['stop_sequence', 'complete'],
    ['max_tokens', 'truncated'],
    ['model_context_window_exceeded', 'truncated'],
    ['refusal', 'refused'],
  ] as const)
    it(`map ${reason} to ${status}`, () => {
      expect(endOf(reason)).to.deep.equal({ status });
    });

  it('estimate one token per three characters, rounded up', () => {
    expect([0, 1, 3, 4].map(estimatedTokens)).to.deep.equal([0, 1, 1, 2]);
  });

  it('limit the waiting times and the number of model calls of an answer', () => {
    expect(answerRules).to.deep.equal({
      beginWithinMs: 120_000,
      calls: 3,
      waitsMs: [1_000, 4_000],
      leaseMs: 20_000,
      silenceMs: 60_000,
      pingsMs: 180_000,
      requestMs: 780_000,
      logMs: 3_600_000,
    });
  });

  it('treat an unknown stop reason as an internal error', () => {
    for (const reason of [null, '', 'tool_use', 'constructor'])
      expect(endOf(reason), String(reason)).to.deep.equal({ status: 'failed', errorCode: 'internal_error' });
  });

  it('wait 1 s, then 4 s, then stop calling', () => {
    expect(nextCallAt(1, 0, 10)).to.equal(10 + second);
    expect(nextCallAt(2, 0, 10)).to.equal(10 + 4 * second);
    expect(nextCallAt(3, 0, 10)).to.equal(undefined);
  });

  it('use Retry-After only if it is longer than the planned wait', () => {
    expect(nextCallAt(1, 0, 0, 7 * second)).to.equal(7 * second);
    expect(nextCallAt(2, 0, 0, 2 * second)).to.equal(4 * second);
  });

  it('allow no call more than two minutes after the question', () => {
    const last = answerRules.beginWithinMs;
    expect(last).to.equal(120 * second);
    expect(nextCallAt(1, 0, last - second - 1)).to.equal(last - 1);
    expect(nextCallAt(1, 0, last - second)).to.equal(undefined);
    expect(nextCallAt(1, 0, 0, last)).to.equal(undefined);
  });

  it('read Retry-After as seconds or a date, and any other value as 0', () => {
    const now = Date.parse('2026-03-01T12:00:00Z');
    expect(retryAfterMsOf('7', now)).to.equal(7 * second);
    expect(retryAfterMsOf('0.5', now)).to.equal(500);
    expect(retryAfterMsOf('Sun, 01 Mar 2026 12:00:30 GMT', now)).to.equal(30 * second);
    for (const nothing of [null, '', ' ', 'soon', '-3', 'Sun, 01 Mar 2026 11:00:00 GMT', 'Infinity'])
      expect(retryAfterMsOf(nothing, now), String(nothing)).to.equal(0);
  });
});
