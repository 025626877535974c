/** Tests the verification of webhooks with messages that are signed as the service signs them (SDK-7). */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { webhooks, type WebhookEvent } from '../../sdk/src/index.ts';
import { signatureHeaders } from '../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../domain/webhooks/endpoints/secrets.ts';

const minute = 60_000;

describe('webhooks.verify() of the SDK', () => {
  const secret = newSecret();
  const event = {
    id: randomUUID(),
    type: 'student.updated',
    occurred_at: new Date().toISOString(),
    club_id: randomUUID(),
    data: { student: { id: randomUUID(), name: 'Zoë 🪢' } },
  };
  const body = JSON.stringify(event);
  const sign = (secrets: readonly string[] = [secret], at = Date.now()) => ({
    ...signatureHeaders({ eventId: event.id, body, secrets: [...secrets], at }),
  });

  it('accepts a signed body as bytes or text, with both kinds of headers', () => {
    const headers = sign();
    for (const raw of [body, Buffer.from(body), new TextEncoder().encode(body)])
      for (const head of [headers, new Headers(headers), { ...headers, accept: ['a', 'b'], via: undefined }])
        expect(webhooks.verify(head, raw, secret)).to.deep.equal(event);
  });

  it('accepts the new and the old secret during a rotation', () => {
    const older = newSecret();
    const headers = sign([secret, older]);
    for (const one of [secret, older]) expect(webhooks.verify(headers, body, one).id).to.equal(event.id);
  });

  const refusals: Readonly<Record<string, () => WebhookEvent>> = {
    'another secret': () => webhooks.verify(sign([newSecret()]), body, secret),
    'a changed body': () => webhooks.verify(sign(), body.replace('Zoë', 'Zoe'), secret),
    'a body that is no UTF-8': () => webhooks.verify(sign(), new Uint8Array([0xff]), secret),
    'a byte order mark that was not signed': () => webhooks.verify(sign(), Buffer.from(`\uFEFF${body}`), secret),
    'an old request': () => webhooks.verify(sign([secret], Date.now() - 6 * minute), body, secret),
    'a request without headers': () => webhooks.verify({}, body, secret),
  };
  for (const [what, verify] of Object.entries(refusals))
    it(`refuses ${what}`, () => {
      expect(verify).to.throw(webhooks.WebhookVerificationError);
    });

  it('reports an empty secret as a fault of the program', () => {
    expect(() => webhooks.verify(sign(), body, '')).to.throw("Secret can't be empty.");
  });
});
