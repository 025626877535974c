import { expect } from 'chai';
import fc from 'fast-check';
import { deviceLabel } from '../../../domain/identity/sessions/device-label.policy.ts';

describe('labels of devices', () => {
  const known: readonly (readonly [string, string])[] = [
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox (Windows)'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari (iOS)',
    ],
    [
      'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
      'Chrome (Android)',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0',
      'Microsoft Edge (macOS)',
    ],
  ];
  for (const [header, label] of known)
    it(`names ${label}`, () => {
      expect(deviceLabel(header)).to.equal(label);
    });

  it('does not repeat words of the header that are no known names', () => {
    const headers = [
      '',
      ' ',
      'node',
      'MyApp/2 (evil.example.com)',
      '<script>alert(1)</script>/1',
      'https://evil.example.com/1.0',
    ];
    expect(headers.map(deviceLabel)).to.deep.equal(headers.map(() => null));
  });

  it('returns null or a short label of letters for any header', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), fc.constantFrom('', 'Firefox/1 ', 'Windows NT '), (text, start) => {
        const label = deviceLabel(start + text);
        return label === null || /^[A-Za-z][A-Za-z0-9 .,\-()/]{0,80}$/.test(label);
      }),
      { numRuns: 500 },
    );
  });
});
