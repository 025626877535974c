import { expect } from 'chai';
import { makeAuthority, type Certificate } from '../../../../dev/stack/certificates.ts';
import { createEgress } from '../../../../platform/infra/egress/egress.ts';
import { postWebhook } from '../../../../domain/webhooks/attempts/post.ts';
import { attempt, noContent, usePosting } from '../../../toolkit/drive/posting.ts';
import { selfSigned, startTcpReceiver, type Respond } from '../../../toolkit/fakes/tls-receiver.ts';

const day = 86_400_000;

describe('TLS of a webhook attempt', () => {
  const { authority, receiverThat, post, resultOf, tracked } = usePosting();
  /** Sends with an egress that also trusts the authority `extraCa`. */
  const postTrusting = async (extraCa: string | undefined, port: number) => {
    const own = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa, resolve: async () => ['127.0.0.1'] });
    const url = `https://receiver.test:${port}/`;
    const { durationMs: _, ...answer } = await postWebhook(tracked(own).dispatcher, { ...attempt, url });
    return answer;
  };

  describe('the certificate', () => {
    const cases: readonly (readonly [string, () => Promise<Certificate>, string])[] = [
      ['is expired', () => authority().issue(['receiver.test'], { expired: true }), 'CERT_HAS_EXPIRED'],
      ['is self-signed', () => selfSigned('receiver.test'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      ['is for a different name', () => authority().issue(['another.test']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
      [
        'is for the subdomains of the receiver',
        () => authority().issue(['*.receiver.test']),
        'ERR_TLS_CERT_ALTNAME_INVALID',
      ],
      ['is for the receiver’s address only', () => authority().issue(['127.0.0.1']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
      [
        'comes from an untrusted authority that has the name of a trusted authority',
        async () => (await makeAuthority()).issue(['receiver.test']),
        // The untrusted authority has the trusted authority's name, but another key.
        'CERT_SIGNATURE_FAILURE',
      ],
    ];
    for (const [what, make, code] of cases) {
      it(`is recorded as tls_error if it ${what}`, async () => {
        const receiver = await receiverThat(noContent, await make());
        expect(await resultOf(receiver.port)).to.deep.equal({ outcome: 'tls_error', errorCode: code });
        expect(receiver.requests).to.have.length(0);
      });
    }

    it('is recorded as tls_error if it is not valid yet', async () => {
      const tomorrow = await selfSigned('receiver.test', new Date(Date.now() + day));
      const receiver = await receiverThat(noContent, tomorrow);
      expect(await postTrusting(tomorrow.cert, receiver.port)).to.deep.equal({
        outcome: 'tls_error',
        errorCode: 'CERT_NOT_YET_VALID',
      });
      expect(receiver.requests).to.have.length(0);
    });

    it('is recorded as tls_error if it is for the host name, but the URL contains the address', async () => {
      const receiver = await receiverThat(noContent, await authority().issue(['receiver.test']));
      const answer = await resultOf(receiver.port, { url: `https://127.0.0.1:${receiver.port}/` });
      expect(answer).to.deep.equal({ outcome: 'tls_error', errorCode: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    });

    it('is recorded as tls_error if it comes from a local authority that is not configured', async () => {
      const receiver = await receiverThat(noContent);
      expect(await postTrusting(undefined, receiver.port)).to.deep.equal({
        outcome: 'tls_error',
        errorCode: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      });
      expect(receiver.requests).to.have.length(0);
    });
  });

  describe('the TLS version', () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      it(`can be ${version}`, async () => {
        const receiver = await receiverThat(noContent, undefined, { minVersion: version, maxVersion: version });
        expect(await resultOf(receiver.port)).to.deep.equal({ outcome: 'succeeded', responseStatus: 204 });
      });
    }

    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      it(`causes a tls_error if it is only ${version}`, async () => {
        const old = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' };
        const receiver = await receiverThat(noContent, undefined, old);
        expect(await resultOf(receiver.port)).to.deep.equal({
          outcome: 'tls_error',
          errorCode: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
        });
        expect(receiver.requests).to.have.length(0);
      });
    }
  });

  describe('HTTP/1.1', () => {
    it('is chosen even if the receiver also offers HTTP/2', async () => {
      const chosen: unknown[] = [];
      const respond: Respond = (socket, request, number) => {
        chosen.push(socket.alpnProtocol);
        noContent(socket, request, number);
      };
      for (const protocols of [['h2', 'http/1.1'], undefined]) {
        const receiver = await receiverThat(respond, undefined, { ALPNProtocols: protocols });
        expect((await post(receiver.port)).outcome, String(protocols)).to.equal('succeeded');
      }
      expect(chosen).to.deep.equal(['http/1.1', false]);
    });

    it('is required: a receiver with only HTTP/2 causes a tls_error', async () => {
      const receiver = await receiverThat(noContent, undefined, { ALPNProtocols: ['h2'] });
      expect(await resultOf(receiver.port)).to.deep.equal({
        outcome: 'tls_error',
        errorCode: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
      });
    });
  });

  describe('a receiver', () => {
    for (const { what, end } of [
      { what: 'and closes', end: true },
      { what: 'and waits', end: false },
    ]) {
      it(`causes a tls_error if it uses a different protocol ${what}`, async () => {
        for (const greeting of ['HTTP/1.1 400 Bad Request\r\n\r\n', 'SSH-2.0-OpenSSH_9.6\r\n', '\0'.repeat(100)]) {
          const plain = tracked(
            await startTcpReceiver((socket) => {
              socket.write(greeting);
              if (end) socket.end();
            }),
          );
          expect(await resultOf(plain.port), greeting).to.deep.equal({
            outcome: 'tls_error',
            errorCode: 'ERR_SSL_WRONG_VERSION_NUMBER',
          });
        }
      });
    }

    for (const { version, code } of [
      { version: 'TLSv1.2', code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' },
      { version: 'TLSv1.3', code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' },
    ] as const) {
      it(`causes a tls_error if it requires a client certificate (${version})`, async () => {
        const mutual = { requestCert: true, rejectUnauthorized: true, minVersion: version, maxVersion: version };
        const receiver = await receiverThat(noContent, undefined, mutual);
        expect(await resultOf(receiver.port)).to.deep.equal({ outcome: 'tls_error', errorCode: code });
      });
    }
  });
});
