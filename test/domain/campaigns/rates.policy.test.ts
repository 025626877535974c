import { expect } from 'chai';
import { reasonInRates } from '../../../domain/campaigns/rates.policy.ts';

describe('rates of a campaign (CAMP-16)', () => {
  it('are ignored below 200 mails', () => {
    expect(reasonInRates({ sent: 199, bounced: 199, complained: 199 })).to.equal(undefined);
    expect(reasonInRates({ sent: 200, bounced: 200, complained: 0 })).to.equal('bounces');
  });

  it('pause the campaign above 5 % of hard bounces, and above 0.3 % of complaints', () => {
    expect(reasonInRates({ sent: 200, bounced: 10, complained: 0 })).to.equal(undefined);
    expect(reasonInRates({ sent: 200, bounced: 11, complained: 0 })).to.equal('bounces');
    expect(reasonInRates({ sent: 1_000, bounced: 0, complained: 3 })).to.equal(undefined);
    expect(reasonInRates({ sent: 1_000, bounced: 0, complained: 4 })).to.equal('complaints');
    expect(reasonInRates({ sent: 200, bounced: 0, complained: 1 })).to.equal('complaints');
  });
});
