import { expect } from 'chai';
import { decimalsOf, formerDecimals, smallestUnits } from '../../../../domain/sales/platforms/currencies.policy.ts';

describe('currencies by ISO 4217', () => {
  it('have the decimals of the standard', () => {
    const codesBy: Readonly<Record<number, string>> = {
      0: 'CLP ISK UGX JPY KRW VND XOF UYI',
      2: 'COP HUF IDR PKR LBP IRR YER MRU MGA BRL EUR USD XCG VED',
      3: 'IQD KWD BHD TND',
      4: 'CLF UYW',
    };
    const expected = Object.entries(codesBy).flatMap(([decimals, codes]) =>
      codes.split(' ').map((code) => [code, Number(decimals)] as const),
    );
    for (const [code, decimals] of expected) expect(decimalsOf(code), code).to.equal(decimals);
  });

  it('exclude unlisted codes, metals, test codes, and names of JavaScript properties', () => {
    for (const code of ['QQQ', 'ABC', 'DEM', 'HRK', 'XAU', 'XXX', 'XTS', 'eur', '', 'toString', '__proto__', 'default'])
      expect(decimalsOf(code), code).to.equal(undefined);
  });

  it('have at least one decimal, even if old releases rounded their amounts', () => {
    for (const code of Object.keys(formerDecimals)) expect(decimalsOf(code), code).to.be.greaterThan(0);
  });

  it('convert decimals exactly to smallest units, and round half up', () => {
    expect(smallestUnits('149900.00', 2)).to.equal(14_990_000n);
    expect(smallestUnits('12990.5', 2)).to.equal(1_299_050n);
    expect(smallestUnits('15.125', 3)).to.equal(15_125n);
    expect(smallestUnits('1.005', 2)).to.equal(101n);
    expect(smallestUnits('1.0049', 2)).to.equal(100n);
    expect(smallestUnits('0.5', 0)).to.equal(1n);
    expect(smallestUnits('7', 4)).to.equal(70_000n);
  });
});
