import { expect } from 'chai';
import { costOf, isPriced, pricedModels, worstCost } from '../../../../domain/agents/prompt/prices.policy.ts';

const today = new Date('2026-11-21T12:00:00Z');
const use = (usage: Partial<Parameters<typeof costOf>[1]>) => ({
  input: 0,
  output: 0,
  cacheWrite: 0,
  cacheRead: 0,
  ...usage,
});

describe('prices of models', () => {
  it('match the price list, in millionths of a dollar for a million tokens of each kind', () => {
    const million = 1_000_000;
    const cost = (usage: Parameters<typeof use>[0]) => costOf('claude-sonnet-5-5', use(usage), today);
    expect(cost({ input: million })).to.equal(2_000_000n);
    expect(cost({ output: million })).to.equal(10_000_000n);
    expect(cost({ cacheWrite: million })).to.equal(2_500_000n);
    expect(cost({ cacheRead: million })).to.equal(100_000n);
  });

  it('are rounded up to a whole millionth of a dollar, once for each call', () => {
    expect(costOf('claude-haiku-5-5', use({ input: 1 }), today)).to.equal(1n);
    expect(costOf('claude-haiku-5-5', use({ input: 10 }), today)).to.equal(1n);
    expect(costOf('claude-haiku-5-5', use({ input: 11 }), today)).to.equal(2n);
    expect(costOf('claude-sonnet-5-5', use({}), today)).to.equal(0n);
  });

  it('depend on the day of the call in UTC', () => {
    const costAt = (at: string) => costOf('claude-sonnet-5-5', use({ cacheRead: 1_000_000 }), new Date(at));
    expect(costAt('2026-10-06T23:59:59Z')).to.equal(200_000n);
    expect(costAt('2026-10-07T00:00:00Z')).to.equal(100_000n);
  });

  it('rise for all tokens of a long prompt, and cached tokens count for its length', () => {
    const at = (input: number) => costOf('claude-haiku-5-5', use({ input, cacheRead: 50_000, output: 1_000 }), today);
    expect(at(50_000)).to.equal(5_000n + 500n + 500n);
    expect(at(50_001)).to.equal(25_001n + 2_500n + 2_500n);
    const costOfWriting = (cacheWrite: number) => costOf('claude-haiku-5-5', use({ input: 1_000, cacheWrite }), today);
    expect(costOfWriting(99_000)).to.equal(100n + 12_375n);
    expect(costOfWriting(99_001)).to.equal(500n + 61_876n);
  });

  it('give a highest cost that no call within the token limits exceeds', () => {
    for (const model of pricedModels) {
      const worst = worstCost(model, 3_000, 500, today);
      for (const kind of ['input', 'cacheWrite', 'cacheRead'] as const)
        expect(costOf(model, use({ [kind]: 3_000, output: 500 }), today) <= worst, `${model} ${kind}`).to.equal(true);
    }
  });

  it('begin on the first day of 2025', () => {
    const costAt = (at: string) => costOf('claude-opus-5', use({ cacheRead: 1_000_000 }), new Date(at));
    expect(costAt('2025-01-01T00:00:00Z')).to.equal(500_000n);
    expect(() => costAt('2024-12-31T23:59:59Z')).to.throw('has no price on 2024-12-31');
  });

  it('throw an error for an unknown model', () => {
    expect(isPriced('claude-1')).to.equal(false);
    expect(isPriced('toString')).to.equal(false);
    expect(() => costOf('claude-1', use({}), today)).to.throw('has no price');
    expect(() => worstCost('claude-1', 1, 1, today)).to.throw('has no price');
  });
});
