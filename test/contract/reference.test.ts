/** Tests the API reference page. The page loads nothing from other servers and works without inline scripts. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { referenceAssets, referenceContentSecurityPolicy, referenceHtml } from '../../contract/reference.ts';

describe('API reference', () => {
  const loaded = [...referenceHtml().matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');

  it('loads only files of this service', () => {
    const assets = [...referenceAssets.keys()].map((name) => `/docs/${name}`);
    expect(loaded).to.have.members([...assets, '/v1/openapi.json']);
  });

  it('serves every asset with the content type of the asset', () => {
    for (const [name, { path, contentType }] of referenceAssets) {
      expect(readFileSync(path).length, name).to.be.above(0);
      const ending = name.slice(name.lastIndexOf('.') + 1);
      expect(contentType, name).to.equal(
        { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', png: 'image/png' }[ending],
      );
    }
  });

  it('has no inline scripts, styles or handlers, and has a security policy that forbids all three', () => {
    expect(referenceHtml()).not.to.match(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    expect(referenceContentSecurityPolicy).not.to.match(/unsafe|https?:|\*/);
    expect(referenceContentSecurityPolicy).to.match(/^default-src 'none'; /);
  });
});
