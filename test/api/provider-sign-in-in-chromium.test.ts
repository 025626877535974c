/** Tests the sign-in with an identity provider in a real browser: dashboard, form of the provider, and back (OIDC-1). */
import { expect } from 'chai';
import { buildAdministrator, password } from '../toolkit/builders/clubs.ts';
import { useBrowser, widths } from '../toolkit/stack/browser.ts';
import { startDashboard, type Dashboard } from '../toolkit/stack/dashboard.ts';
import {
  serveWithProviders,
  somebody,
  startProvider,
  type ProviderApi,
  type TestProvider,
} from '../toolkit/stack/identity-providers.ts';

const person = somebody();

describe('the sign-in with an identity provider in Chromium', function () {
  this.timeout(60_000);
  const open = useBrowser();
  let dashboard: Dashboard;
  let provider: TestProvider;
  let api: ProviderApi;

  before(async () => {
    dashboard = await startDashboard();
    provider = await startProvider([person], [dashboard.url]);
    api = await serveWithProviders([provider], { redirectUris: [dashboard.url] });
    dashboard.useApi(api.base);
  });
  after(async () => {
    await api.close();
    await provider.stop();
    dashboard.stop();
  });

  it('opens a session for a person whose identity is joined to an account', async () => {
    const page = await open(widths.laptop, { trustsLocalTls: true });
    const signIn = async () => {
      await page.goto(dashboard.url);
      await page.click('#start');
    };
    await signIn();
    await page.fill('input[name=login]', person.login);
    await page.fill('input[name=password]', person.password);
    const [answer] = await Promise.all([
      page.waitForResponse((one) => one.url().endsWith('/code/exchange')),
      page.click('button'),
    ]);
    await page.waitForSelector('output:not(:empty)');
    expect(await page.textContent('output')).to.equal('identity_not_joined');
    const { error } = (await answer.json()) as { error: { join_token: string } };
    const { email } = await buildAdministrator();
    const body = { join_token: error.join_token, email, password };
    expect((await api.call('POST', '/v1/auth/admin/identities', { body })).status).to.equal(200);

    await signIn(); // the provider remembers the person
    await page.waitForSelector('output:not(:empty)');
    expect(await page.textContent('output')).to.equal('Hello Ada Administrator');
    expect(page.url()).to.equal(dashboard.url);
  });
});
