import { expect } from 'chai';
import { waitAfterCharge, addOnLeaseSeconds, chargesUntilMs } from '../../../domain/billing/add-ons.policy.ts';
import { addOns, features, planAfterCancellation, plans } from '../../../domain/billing/plans.policy.ts';
import { planNames } from '../../../entities/billing/values.ts';

const gigabyte = 1_000_000_000;

describe('a plan', () => {
  for (const [name, students, storage, aiBudget, overage] of [
    ['trial', 50, gigabyte, 100, 'refused'],
    ['starter', 100, 10_000_000_000, 0, 'refused'],
    ['professional', 10_000, 500_000_000_000, 5_000, 'refused'],
    ['business', 50_000, 2_000_000_000_000, 50_000, 'billed'],
  ] as const)
    it(`includes ${students} students, ${storage / gigabyte} GB, ${aiBudget} cents of AI; overage: ${overage} (${name})`, () => {
      expect(plans[name].allowances).to.deep.equal({
        students: { included: students, overage },
        storage_bytes: { included: storage, overage },
        ai_budget: { included: aiBudget, overage: 'refused' },
      });
    });

  it('has every feature if it is professional or higher', () => {
    const lacking = planNames.map((name) => features.filter((one) => !plans[name].features.some((own) => own === one)));
    expect(lacking).to.deep.equal([
      ['video_hosting'],
      ['registration_links', 'imports', 'repositories', 'campaigns', 'automations', 'agents', 'video_hosting'],
      [],
      [],
    ]);
  });

  it('becomes the smallest paid plan after a cancellation', () => {
    expect(planAfterCancellation).to.equal('starter');
  });
});

describe('an add-on', () => {
  it('adds a fixed amount of one resource at a price in cents', () => {
    expect(addOns).to.deep.equal({
      students: { resource: 'students', adds: 100, price: 1_000 },
      storage: { resource: 'storage_bytes', adds: 100_000_000_000, price: 500 },
      ai_budget: { resource: 'ai_budget', adds: 1_000, price: 1_000 },
    });
  });

  it('retries a failed charge after 5 and 30 s, 2, 10 and 30 min, then each hour, for 23 hours', () => {
    const seconds = [0, 1, 2, 3, 4, 5, 6, 7, 100].map((attempts) => waitAfterCharge(attempts) / 1_000);
    expect(seconds).to.deep.equal([5, 5, 30, 120, 600, 1_800, 3_600, 3_600, 3_600]);
    expect(chargesUntilMs).to.equal(82_800_000);
  });

  it('has a lease of 60 s, which is longer than three calls of 10 s', () => {
    expect(addOnLeaseSeconds).to.equal(60);
  });
});
