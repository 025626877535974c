/**
 * Tests passkeys in Chromium with virtual authenticators. The pages of the dashboard and of the classroom call the API from other origins,
 * with the browser's own functions (PKY-1 to PKY-7).
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { startApi, type RunningApi } from '../../api/server.ts';
import { buildAdministrator, buildClub, buildStudent, password } from '../toolkit/builders/clubs.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useBrowser, widths } from '../toolkit/stack/browser.ts';

interface Result {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of answers of any operation
  body: any;
}

/** The functions of the page, as a front end writes them (docs/how-to/build-a-front-end.md). */
const script = `
  const call = async (method, path, { token, body } = {}) => {
    const answer = await fetch(base + path, {
      method,
      headers: { ...(token && { authorization: 'Bearer ' + token }), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: answer.status === 204 ? {} : await answer.json() };
  };
  const add = async (path, token, name) => {
    const options = await call('POST', path + '/options', { token });
    if (options.status !== 200) return options;
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.body.data);
    const passkey = await navigator.credentials.create({ publicKey });
    return call('POST', path, { token, body: { name, passkey: passkey.toJSON() } });
  };
  const ask = async (options) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({ publicKey })).toJSON();
  };
  const signIn = async (path, fields) => {
    const options = await call('POST', path + '/options', Object.keys(fields).length ? { body: fields } : {});
    return call('POST', path + '/sign-in', { body: { ...fields, passkey: await ask(options.body.data) } });
  };
`;

describe('passkeys in Chromium', function () {
  this.timeout(120_000);
  const openPage = useBrowser();
  const sites: http.Server[] = [];
  let dashboard: string;
  let classroom: string;
  let api: RunningApi;
  before(async () => {
    [dashboard, classroom] = [await serveSite(), await serveSite()];
    const env = { DASHBOARD_URL: dashboard, CLASSROOM_URL: `${classroom}/{slug}` };
    api = await startApi(await testConfig({ ...env, CORS_ORIGINS: `${dashboard},${classroom}` }), {
      readinessGraceMs: 0,
    });
  });
  after(async () => {
    for (const site of sites) {
      site.closeAllConnections();
      site.close();
    }
    await api.stop();
  });

  beforeEach('forget the calls of earlier tests, because all pages have one address', async () => {
    await (await testDatabase()).query(`DELETE FROM rate_limit_counters`);
  });

  async function serveSite(): Promise<string> {
    const site = http.createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<!doctype html>'));
    sites.push(site);
    await once(site.listen(0, '127.0.0.1'), 'listening');
    return `http://localhost:${(site.address() as AddressInfo).port}`;
  }

  /** A page with virtual authenticators. */
  async function open(site: string): Promise<{ page: Page; cdp: CDPSession; addDevice: () => Promise<string> }> {
    const page = await openPage(widths.laptop);
    await page.goto(site);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const addDevice = async () => {
      const options = {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      } as const;
      return (await cdp.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId;
    };
    return { page, cdp, addDevice };
  }

  /** Runs the body of an async function in the page. It sees the functions of the page and the values. */
  const runIn = (page: Page, body: string, values: Readonly<Record<string, unknown>> = {}): Promise<Result> => {
    const variables = { base: `http://127.0.0.1:${api.port}`, ...values };
    return page.evaluate<Result>(
      `(async ({ ${Object.keys(variables).join(', ')} }) => { ${script} ${body} })(${JSON.stringify(variables)})`,
    );
  };

  const adminPaths = { path: '/v1/me/second-factors/passkeys', at: '/v1/auth/admin/passkeys' };
  const addToAdministrator = (page: Page, token: string) =>
    runIn(page, `return add(path, token, 'Laptop');`, { ...adminPaths, token });
  const signInAdministrator = (page: Page) => runIn(page, `return signIn(at, {});`, adminPaths);

  it('sign an administrator in without a password, after their registration', async () => {
    const { id, token } = await buildAdministrator();
    const { page, addDevice } = await open(dashboard);
    await addDevice();
    const added = await addToAdministrator(page, token);
    expect(added.status, JSON.stringify(added.body)).to.equal(201);
    expect(added.body.data.recovery_codes).to.have.length(10);
    const { status, body } = await signInAdministrator(page);
    expect(status).to.equal(200);
    expect(body.data.administrator.id).to.equal(id);
  });

  it('sign a student in to the own club, and not to another club on the same domain', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const student = await buildStudent(club.id);
    const { page, addDevice } = await open(classroom);
    await addDevice();
    const add = `return add('/v1/auth/session/passkeys', token, 'Phone');`;
    expect((await runIn(page, add, { token: student.token })).status).to.equal(201);
    const signIn = (clubId: string) =>
      runIn(page, `return signIn('/v1/auth/passkeys', { club_id: clubId });`, { clubId });
    expect((await signIn(club.id)).body.data.student.id).to.equal(student.id);
    expect(await signIn(other.id)).to.have.nested.property('body.error.code', 'invalid_credentials');
  });

  it('finish a sign-in after the password, and prove the person in a session', async () => {
    const { email, token } = await buildAdministrator();
    const { page, addDevice } = await open(dashboard);
    await addDevice();
    await addToAdministrator(page, token);
    const finished = await runIn(
      page,
      `const { body } = await call('POST', '/v1/auth/admin/sign-in', { body: { email, password } });
       const challenge = body.error.challenge.token;
       const options = await call('POST', '/v1/auth/admin/second-factor/passkey-options', { body: { challenge } });
       return call('POST', '/v1/auth/admin/second-factor', { body: { challenge, passkey: await ask(options.body.data) } });`,
      { email, password },
    );
    expect(finished.status).to.equal(200);
    const proof = await runIn(
      page,
      `const options = await call('POST', '/v1/me/proof/passkey-options', { token });
       return call('POST', '/v1/me/proof', { token, body: { passkey: await ask(options.body.data) } });`,
      { token: finished.body.data.token },
    );
    expect(proof.body.data.with_second_factor).to.equal(true);
  });

  it('are created on a second authenticator, and not again on the first', async () => {
    const { token } = await buildAdministrator();
    const { page, cdp, addDevice } = await open(dashboard);
    const first = await addDevice();
    expect((await addToAdministrator(page, token)).status).to.equal(201);
    const refusal = await addToAdministrator(page, token).catch((error: unknown) => String(error));
    expect(refusal).to.include('InvalidStateError');
    await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: first });
    await addDevice();
    expect((await addToAdministrator(page, token)).status).to.equal(201);
    expect((await signInAdministrator(page)).status).to.equal(200);
  });

  it('do not leave an authenticator that cannot verify its person', async () => {
    const { token } = await buildAdministrator();
    const { page, cdp, addDevice } = await open(dashboard);
    const authenticatorId = await addDevice();
    await addToAdministrator(page, token);
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    const refusal = await signInAdministrator(page).catch((error: unknown) => String(error));
    expect(refusal).to.include('NotAllowedError');
  });

  it('are refused if a copy of the authenticator has a lower counter', async () => {
    const { token } = await buildAdministrator();
    const { page, cdp, addDevice } = await open(dashboard);
    const authenticatorId = await addDevice();
    await addToAdministrator(page, token);
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
    const [copy] = credentials;
    expect((await signInAdministrator(page)).status).to.equal(200);
    expect((await signInAdministrator(page)).status).to.equal(200);
    if (!copy) throw new Error('The authenticator has no credential');
    await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId: copy.credentialId });
    await cdp.send('WebAuthn.addCredential', { authenticatorId, credential: copy });
    expect(await signInAdministrator(page)).to.deep.include({ status: 401 });
  });

  it('open no session after their removal', async () => {
    const { token } = await buildAdministrator();
    const { page, addDevice } = await open(dashboard);
    await addDevice();
    const { body } = await addToAdministrator(page, token);
    const path = `/v1/me/second-factors/${body.data.factor.id}`;
    expect((await runIn(page, `return call('DELETE', path, { token });`, { path, token })).status).to.equal(204);
    expect(await signInAdministrator(page)).to.deep.include({ status: 401 });
  });

  it('of administrators are refused on the page of the classroom', async () => {
    const { token } = await buildAdministrator();
    const { page, addDevice } = await open(classroom);
    await addDevice();
    expect(await addToAdministrator(page, token)).to.deep.include({ status: 422 });
  });
});
