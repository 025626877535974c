import { expect } from 'chai';
import { plans } from '../../domain/billing/plans.policy.ts';
import { roles } from '../../entities/clubs/values.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildPlan, buildStudents } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError, visible } from '../toolkit/drive/api.ts';
import { operationOf } from '../toolkit/drive/every-operation.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

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
