import { expect } from 'chai';
import * as fc from 'fast-check';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { signatureHeaders } from '../../../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../../../domain/webhooks/endpoints/secrets.ts';

const eventId = 'f3b1c1c2-0a39-4c41-9c54-5f2a40d4f3aa';
const body = JSON.stringify({ id: eventId, type: 'student.created', data: { name: 'Zoë 学生 🎓' } });
const verify = (secret: string, headers: object, payload: string | Buffer = body) =>
  new Webhook(secret).verify(payload, { ...headers });

describe('a webhook secret', () => {
  it('consists of whsec_ and 32 random bytes in padded standard base64', () => {
    const secret = newSecret();
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).to.have.length(32);
    expect(newSecret()).to.not.equal(secret);
  });
});

describe('a webhook signature (AUTH-9, SIG-1, SIG-2)', () => {
  it('is verified by the library that receivers use', () => {
    const secret = newSecret();
    const headers = signatureHeaders({ eventId, body, secrets: [secret], at: Date.now() });
    expect(verify(secret, headers)).to.deep.equal(JSON.parse(body));
  });

  it('signs the raw bytes, with the same result for text and bytes', () => {
    const secret = newSecret();
    const at = new Date();
    const asBytes = signatureHeaders({ eventId, body: Buffer.from(body), secrets: [secret], at });
    expect(asBytes).to.deep.equal(signatureHeaders({ eventId, body, secrets: [secret], at: at.getTime() }));
    expect(verify(secret, asBytes, Buffer.from(body))).to.deep.equal(JSON.parse(body));
  });

  it('equals the signature of the receivers’ library', () => {
    const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
    const headers = signatureHeaders({
      eventId: 'msg_1',
      body: '{"test": 2432232314}',
      secrets: [secret],
      at: 1_614_265_330_999,
    });
    expect(headers['webhook-id']).to.equal('msg_1');
    expect(headers['webhook-timestamp']).to.equal('1614265330');
    expect(headers['webhook-signature']).to.equal(
      new Webhook(secret).sign('msg_1', new Date(1_614_265_330_000), '{"test": 2432232314}'),
    );
  });

  it('contains the new and the old signature during a rotation (SIG-4)', () => {
    const [fresh, previous] = [newSecret(), newSecret()];
    const at = Date.now();
    const headers = signatureHeaders({ eventId, body, secrets: [fresh, previous], at });
    const alone = (secret: string) => signatureHeaders({ eventId, body, secrets: [secret], at })['webhook-signature'];
    expect(headers['webhook-signature']).to.equal(`${alone(fresh)} ${alone(previous)}`);
    expect(verify(fresh, headers)).to.deep.equal(JSON.parse(body));
    expect(verify(previous, headers)).to.deep.equal(JSON.parse(body));
    expect(() => verify(newSecret(), headers)).to.throw(WebhookVerificationError, 'No matching signature');
  });

  it('covers the id, the timestamp and the body', () => {
    const secret = newSecret();
    const at = Date.now();
    const headers = signatureHeaders({ eventId, body, secrets: [secret], at });
    const later = String(Number(headers['webhook-timestamp']) + 1);
    expect(() => verify(secret, headers, `${body} `)).to.throw(WebhookVerificationError);
    expect(() => verify(secret, { ...headers, 'webhook-id': 'another' })).to.throw(WebhookVerificationError);
    expect(() => verify(secret, { ...headers, 'webhook-timestamp': later })).to.throw(WebhookVerificationError);
  });

  it('is verified for any secret and any body', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.jsonValue(), fc.uuid(), (key, value, id) => {
        const secret = `whsec_${Buffer.from(key).toString('base64')}`;
        const text = JSON.stringify({ value });
        const headers = signatureHeaders({ eventId: id, body: text, secrets: [secret], at: Date.now() });
        expect(verify(secret, headers, text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('cannot be made without a secret or with a damaged secret', () => {
    const damaged = [
      [],
      [''],
      ['whsec_'],
      [newSecret().slice(0, -8)],
      [newSecret().replace('whsec_', '')],
      [newSecret().replace('whsec_', 'whkey_')],
    ];
    for (const secrets of damaged) {
      expect(() => signatureHeaders({ eventId, body, secrets, at: 0 }), secrets.join()).to.throw(TypeError);
    }
  });
});
