/** Tests the API reference page, which loads nothing from other servers, and works without inline scripts. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { referenceAssets, referenceContentSecurityPolicy, referenceHtml } from '../../contract/reference.ts';

describe('API reference', () => {
  const loaded = [...referenceHtml().matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');

  it('loads only files of this service', () => {
    const assets = [...referenceAssets.keys()].map((name) => `/docs/${name}`);
    expect(loaded).to.have.members([...assets, '/v1/openapi.json']);
  });

  it('has every asset with its content type', () => {
    for (const [name, { path, contentType }] of referenceAssets) {
      expect(readFileSync(path).length, name).to.be.above(0);
      const ending = name.slice(name.lastIndexOf('.') + 1);
      expect(contentType, name).to.equal(
        { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', png: 'image/png' }[ending],
      );
    }
  });

  it('has no inline script, style or handler, and has a policy that forbids all three', () => {
    expect(referenceHtml()).not.to.match(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    expect(referenceContentSecurityPolicy).not.to.match(/unsafe|https?:|\*/);
    expect(referenceContentSecurityPolicy).to.match(/^default-src 'none'; /);
  });
});
