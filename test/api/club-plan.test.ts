import { expect } from 'chai';
import { plans } from '../../domain/billing/plans.policy.ts';
import { roles } from '../../entities/clubs/values.ts';
import { localMonthOf } from '../../platform/core/time/local-time.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildOverageCharge, buildPlan, buildStudents } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError, visible } from '../toolkit/drive/api.ts';
import { exceed } from '../toolkit/drive/overages.ts';
import { operationOf } from '../toolkit/drive/every-operation.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('club plan', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });
  const read = (token = club.owner.token) => call('GET', `/v1/clubs/${club.id}/plan`, { token });

  describe('GET /v1/clubs/{clubId}/plan', () => {
    it('shows the professional plan with all its features, and no usage, if the club is new', async () => {
      const { status, body } = await read();
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal({
        plan: 'professional',
        status: 'active',
        features: [...plans.professional.features],
        allowances: {
          students: { included: 10_000, add_ons: 0, used: 0, overage: 'refused' },
          storage_bytes: { included: 500_000_000_000, add_ons: 0, used: 0, overage: 'refused' },
          ai_budget: { included: 5_000, add_ons: 0, used: 0, overage: 'refused' },
        },
      });
    });

    it('shows the plan that billing has set, and does not count removed students', async () => {
      const end = new Date('2026-12-24T18:00:00Z');
      await buildPlan(club.id, 'business', { status: 'past_due', current_period_end: end });
      await buildStudents(club.id, 7);
      const { id } = await buildStudent(club.id);
      await call('DELETE', `/v1/clubs/${club.id}/students/${id}`, { token: club.owner.token });
      const { data } = (await read()).body;
      expect(data).to.include({ plan: 'business', status: 'past_due', current_period_end: end.toISOString() });
      expect(data.allowances.students).to.deep.equal({ included: 50_000, add_ons: 0, used: 7, overage: 'billed' });
    });

    describe('with billed overage (BILL-11)', () => {
      const month = () => localMonthOf('UTC', new Date());
      beforeEach(async () => {
        await (await testDatabase()).query(`UPDATE clubs SET time_zone = 'UTC' WHERE id = $1`, [club.id]);
        await buildPlan(club.id, 'business', { currency: 'eur' });
      });

      it('shows the excess of the month, its cost so far, and when the month ends', async () => {
        await exceed(club.id, 117, new Date());
        expect((await read()).body.data.overage).to.deep.equal({
          month: month().month,
          ends_at: month().endsAt.toISOString(),
          students: { excess: 117, packs: 2, amount: 2_000, currency: 'eur' },
          storage_bytes: { excess: 0, packs: 0, amount: 0, currency: 'eur' },
        });
      });

      it('shows US dollars before an event has named a currency, and no cost for a currency without a price', async () => {
        await exceed(club.id, 1, new Date());
        await buildPlan(club.id, 'business', { currency: null });
        expect((await read()).body.data.overage.students).to.deep.include({ amount: 1_000, currency: 'usd' });
        await buildPlan(club.id, 'business', { currency: 'sek' });
        expect((await read()).body.data.overage.students).to.deep.equal({ excess: 1, packs: 1 });
      });

      it('still shows what was exceeded this month after a change to a plan without billed overage', async () => {
        await exceed(club.id, 1, new Date());
        await buildPlan(club.id, 'professional');
        const { overage } = (await read()).body.data;
        expect(overage.students).to.include({ excess: 1 });
        expect(overage).to.not.have.property('storage_bytes');
      });

      const settled = {
        settled_at: new Date(),
        charged_at: new Date(),
        item_id: 'ii_1',
        amount: 2_000,
        currency: 'usd',
      };
      const charge = async () => (await read()).body.data.overage_charges?.[0];
      const received = async (type: string, invoice: string, ofClub = club.id) =>
        (await testDatabase()).query(
          `INSERT INTO billing_events (id, club_id, type, created, received_at, invoice_id, outcome) VALUES ($1, $2, $3, now(), now(), $4, 'outdated')`,
          [newId(), ofClub, type, invoice],
        );

      for (const [status, columns] of [
        ['pending', {}],
        ['charged', { item_id: 'ii_1', charged_at: new Date(), amount: 2_000, currency: 'usd' }],
        ['invoiced', { ...settled, status: 'invoiced', invoice_id: 'in_1' }],
        ['waived', { status: 'waived', reason: 'no_customer', settled_at: new Date() }],
        ['failed', { status: 'failed', reason: 'currency_without_price', settled_at: new Date() }],
      ] as const)
        it(`shows a charge of an earlier month that is ${status}`, async () => {
          await buildOverageCharge(club.id, columns);
          expect(await charge()).to.deep.include({
            resource: 'students',
            month: '2026-03-01',
            excess: 117,
            packs: 2,
            status,
          });
        });

      it('shows a charge as paid as soon as its invoice was paid, in any order of the events', async () => {
        const invoice = `in_${newId()}`;
        await buildOverageCharge(club.id, { ...settled, status: 'invoiced', invoice_id: invoice });
        await received('invoice.paid', invoice, (await buildClub()).id);
        expect(await charge()).to.include({ status: 'invoiced' });
        await received('invoice.payment_failed', invoice);
        expect(await charge()).to.include({ status: 'payment_failed' });
        await received('invoice.paid', invoice);
        await received('invoice.payment_failed', invoice);
        expect(await charge()).to.include({ status: 'paid' });
      });

      it('shows what the club pays to owners and admins only, and to no API key', async () => {
        await exceed(club.id, 117, new Date());
        await buildOverageCharge(club.id);
        const overageFor = async (token: string) => {
          const { overage, overage_charges: charges } = (await read(token)).body.data;
          return { ...overage.students, charges: charges?.length ?? 0 };
        };
        const excess = { excess: 117, packs: 2 };
        const costs = { ...excess, amount: 2_000, currency: 'eur', charges: 1 };
        for (const role of roles) {
          const { token } = await buildMember(club.id, role);
          const isAdministration = role === 'owner' || role === 'admin';
          expect(await overageFor(token), role).to.deep.equal(isAdministration ? costs : { ...excess, charges: 0 });
        }
        const { token } = await buildApiKey(club.id, ['club:read']);
        expect(await overageFor(token)).to.deep.equal({ ...excess, charges: 0 });
      });

      it('shows at most 24 charges, however long the history is', async () => {
        const source = await testDatabase();
        await source.query(
          `INSERT INTO overage_charges (id, club_id, resource, month, excess, packs, plan, status, created_at, next_attempt_at)
           SELECT gen_random_uuid(), $1, 'students', ('2000-01-01'::date + number * interval '1 month')::date, 1, 1, 'business', 'pending', now(), now()
             FROM generate_series(1, 200) AS number`,
          [club.id],
        );
        const { overage_charges: charges } = (await read()).body.data;
        expect(charges).to.have.length(24);
        expect(charges[0].month).to.equal('2016-09-01');
      });
    });

    it('is allowed to every member of the club', async () => {
      for (const role of roles) {
        const { token } = await buildMember(club.id, role);
        expect((await read(token)).status, role).to.equal(200);
      }
    });
  });

  describe('a plan without a feature', () => {
    it('returns 402 feature_not_in_plan with the feature’s name, and writes nothing', async () => {
      await buildPlan(club.id, 'starter');
      const before = await rowCounts();
      const body = { name: 'Open day', delivery_ids: [newId()] };
      const answer = await call('POST', `/v1/clubs/${club.id}/registration-links`, { token: club.owner.token, body });
      expectError(answer, 'feature_not_in_plan');
      expect(answer.body.error.message).to.include('registration links');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('is tested for every operation for which the contract declares 402', () => {
      for (const id of ['registerWebhookEndpoint', 'createSalesConnection', 'createRegistrationLink'] as const)
        expect(operationOf(id).errorCodes, id).to.include('feature_not_in_plan');
    });
  });

  describe('a club at its plan’s limit of students', () => {
    beforeEach(async () => {
      await buildPlan(club.id, 'starter');
      await buildStudents(club.id, plans.starter.allowances.students.included - 1);
    });
    const signUp = (email: string) =>
      call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body: { name: 'Ada', email, password } });

    it('returns the same 402 limit_reached for known and new e-mails, and does not mention the plan', async () => {
      const known = await buildStudent(club.id);
      const before = await rowCounts();
      const answers = [await signUp(`${newId()}@example.com`), await signUp(known.email)];
      await eachCase(answers, (answer) => expectError(answer, 'limit_reached'));
      expect(new Set(answers.map(visible)).size).to.equal(1);
      expect(answers[0]?.body.error.message).to.not.match(/plan|allowance|limit|subscri/i);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 402 limit_reached with the resource’s name to an administrator', async () => {
      await buildStudent(club.id);
      const body = { name: 'Ada', email: `${newId()}@example.com` };
      const answer = await call('POST', `/v1/clubs/${club.id}/students`, { token: club.owner.token, body });
      expectError(answer, 'limit_reached');
      expect(answer.body.error.message).to.include('students');
    });
  });
});
