import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { phoneCodeRules } from '../../../../domain/identity/phones/codes.policy.ts';
import { removeOldPhoneCodes, requestPhoneCode } from '../../../../domain/identity/phones/codes.ts';
import { sendPhoneCode, type PhoneAnswer, type PhoneCodeDeps } from '../../../../domain/identity/phones/sending.ts';
import { readConfig } from '../../../../config.ts';
import { createEgress } from '../../../../platform/infra/egress/egress.ts';
import { phoneCodeDeps } from '../../../../worker/parts/phone-codes.ts';
import type { Parts } from '../../../../worker/parts/parts.ts';
import { PhoneCode } from '../../../../entities/identity/phone-code.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { buildPhoneCode, someNumber } from '../../../toolkit/builders/phone-codes.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { testStack } from '../../../toolkit/stack/stack.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

describe('sending a code to a telephone number', () => {
  const delivering = useDeliveries();
  let bodies: string[] = [];
  let answers: PhoneAnswer[] = [];
  let outcomes: string[] = [];
  beforeEach(() => {
    [bodies, answers, outcomes] = [[], [], []];
  });

  const deps = async (changes: Partial<PhoneCodeDeps> = {}): Promise<PhoneCodeDeps> => {
    const { db, vault } = await testDeps();
    return {
      db,
      vault,
      async postCode({ body }) {
        bodies.push(body);
        return answers.shift() ?? { outcome: 'succeeded', responseStatus: 204 };
      },
      onOutcome: (outcome) => void outcomes.push(outcome),
      ...changes,
    };
  };
  const rowOf = async (id: Id) => (await testDeps()).db.manager.findOneByOrFail(PhoneCode, { id });
  const setNumber = async (id: Id, number: string | null) =>
    (await testDeps()).db.source.query('UPDATE administrators SET phone = $2 WHERE id = $1', [id, number]);
  /** A time after the request, so that the code is due. */
  const soon = () => Date.now() + 1_000;

  it('posts the number and the code, and ends as sent', async () => {
    const { id, number, code } = await buildPhoneCode();
    expect(await sendPhoneCode(await deps(), id, soon())).to.deep.equal({ done: true, outcome: 'sent' });
    const [body = '{}'] = bodies;
    const { type, data } = JSON.parse(body);
    expect(type).to.equal('phone.code');
    expect(data).to.include({ phone: number, code, language: 'en' });
    expect(data.text).to.include(code);
    expect(outcomes).to.deep.equal(['sent']);
  });

  it('writes the text in the language of the administrator', async () => {
    const { id, administrator, code } = await buildPhoneCode();
    const { db } = await testDeps();
    await db.source.query(`UPDATE administrators SET language = 'de' WHERE id = $1`, [administrator.id]);
    await sendPhoneCode(await deps(), id, soon());
    expect(JSON.parse(bodies[0] ?? '{}').data).to.include({
      language: 'de',
      text: `${code} ist dein Code. Er gilt 10 Minuten. Gib ihn nie weiter.`,
    });
  });

  it('tries again after the waits of the schedule, and then fails', async () => {
    const { id } = await buildPhoneCode();
    answers = Array.from({ length: 6 }, () => ({ outcome: 'timeout' }));
    const begin = soon();
    let now = begin;
    for (;;) {
      const step = await sendPhoneCode(await deps(), id, now);
      if (step.done) {
        expect(step.outcome).to.equal('failed');
        break;
      }
      now = step.at;
    }
    expect(bodies).to.have.length(6);
    expect(now - begin).to.equal(3_000 + 10_000 + 30_000 + 60_000 + 120_000);
  });

  it('gives up after a refusal that will not change', async () => {
    const { id } = await buildPhoneCode();
    answers = [{ outcome: 'http_error', responseStatus: 422 }];
    expect(await sendPhoneCode(await deps(), id, soon())).to.deep.equal({ done: true, outcome: 'failed' });
  });

  it('sends nothing after the number was changed or removed', async () => {
    for (const number of [someNumber(), null]) {
      const { id, administrator } = await buildPhoneCode();
      await setNumber(administrator.id, number);
      expect(await sendPhoneCode(await deps(), id, soon())).to.deep.equal({ done: true, outcome: 'canceled' });
    }
    expect(bodies).to.deep.equal([]);
  });

  it('sends nothing after the code has expired', async () => {
    const { id } = await buildPhoneCode();
    const step = await sendPhoneCode(await deps(), id, Date.now() + phoneCodeRules.lifetimeMs);
    expect(step).to.deep.equal({ done: true, outcome: 'canceled' });
    expect(bodies).to.deep.equal([]);
  });

  it('sends no earlier code after a newer request', async () => {
    const { id, administrator } = await buildPhoneCode();
    const { db, vault } = await testDeps();
    const later = new Date(Date.now() + phoneCodeRules.pauseMs + 1_000);
    await requestPhoneCode(
      { db, vault, phoneCodes: { isConfigured: true, perDay: 1_000_000 } },
      administrator.id,
      later,
    );
    const step = await sendPhoneCode(await deps(), id, later.getTime() + 1_000);
    expect(step).to.deep.equal({ done: true, outcome: 'canceled' });
    expect(bodies).to.deep.equal([]);
  });

  it('cancels a waiting code if the deployment no longer sends codes', async () => {
    const { id } = await buildPhoneCode();
    const step = await sendPhoneCode(await deps({ postCode: undefined }), id, soon());
    expect(step).to.deep.equal({ done: true, outcome: 'canceled' });
  });

  it('stores neither the number nor the code', async () => {
    const { id, number, code } = await buildPhoneCode();
    const stored = JSON.stringify(await rowOf(id));
    expect(stored).to.not.include(number);
    expect(stored).to.not.include(`"${code}"`);
    const { db } = await testDeps();
    const [wake] = await db.source.query('SELECT * FROM wakes WHERE subject_id = $1', [id]);
    expect(JSON.stringify(wake)).to.include(id).and.not.include(number);
  });

  it('keeps requests for two days, because the limits count them', async () => {
    const { id } = await buildPhoneCode();
    const { db } = await testDeps();
    await removeOldPhoneCodes(db, new Date(Date.now() + phoneCodeRules.keptMs - 60_000));
    expect(await db.manager.countBy(PhoneCode, { id })).to.equal(1);
    await removeOldPhoneCodes(db, new Date(Date.now() + phoneCodeRules.keptMs + 1_000));
    expect(await db.manager.countBy(PhoneCode, { id })).to.equal(0);
  });

  describe('of a worker', () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

    /** The dependencies of a worker with these settings, and the lines of its log. */
    const ofWorker = async (url: string, allowedNetworks: string[]) => {
      const { db, vault } = await testDeps();
      const { authority } = await testStack();
      const egress = createEgress({ allowedNetworks, extraCa: authority.certificate });
      const lines: string[] = [];
      const log = { warn: (...words: unknown[]) => lines.push(JSON.stringify(words)) };
      const config = readConfig({ ...process.env, PHONE_CODE_URL: url, PHONE_CODE_SECRET: secret });
      const resources = { db, vault, egress };
      return { lines, egress, deps: phoneCodeDeps({ config, resources, log } as unknown as Parts) };
    };

    it('signs the message, whose id is the id of the code', async () => {
      const receiver = await delivering().receiver();
      const { deps: own, egress } = await ofWorker(`${receiver.url}/codes`, ['127.0.0.0/8']);
      const { id, code } = await buildPhoneCode();
      expect(await sendPhoneCode(own, id, soon())).to.deep.equal({ done: true, outcome: 'sent' });
      await egress.close();
      const [request] = receiver.requests;
      expect(request?.headers['webhook-id']).to.equal(id);
      const verified = new Webhook(secret).verify(String(request?.body), request?.headers as Record<string, string>);
      expect((verified as { data: object }).data).to.include({ code });
    });

    it('reaches no private address, and logs neither number nor code', async () => {
      const receiver = await delivering().receiver();
      const { deps: own, egress, lines } = await ofWorker(`${receiver.url}/codes`, []);
      const { id, number, code } = await buildPhoneCode();
      expect(await sendPhoneCode(own, id, soon())).to.include({ done: false });
      await egress.close();
      expect(receiver.requests).to.have.length(0);
      expect(lines.join()).to.include('address_refused');
      expect(lines.join()).to.not.include(number).and.not.include(code);
    });
  });
});
