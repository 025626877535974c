import { expect } from 'chai';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import { acceptedNulls } from './accepted.ts';
import { rowDifferences } from './compare.ts';
import type { DeclaredKind, DeclaredProperty } from './declared.ts';
import type { DescribedColumn, ValueKind } from './described.ts';

const property = (
  name: string,
  kinds: readonly DeclaredKind[],
  more: Partial<DeclaredProperty> = {},
): DeclaredProperty => ({
  name,
  kinds,
  nullable: false,
  optional: false,
  printed: 'declared',
  ...more,
});
const column = (name: string, value: ValueKind, nullable = false): DescribedColumn => ({
  name,
  type: 'type',
  value,
  nullable,
});

/** Returns the differences between one declared property `a` and one selected column `a`. */
const ofOne = (kinds: readonly DeclaredKind[], value: ValueKind) =>
  rowDifferences({ properties: [property('a', kinds)], others: undefined }, [column('a', value)]);

describe('the comparison of a declared row with its columns', () => {
  it('accepts a property if its declared type matches the value that the driver returns', () => {
    const same = ['string', 'number', 'boolean', 'bigint', 'Date', 'Buffer'] as const;
    expect(same.flatMap((kind) => ofOne([kind], kind))).to.deep.equal([]);
    expect(ofOne(['string', 'number'], 'number')).to.deep.equal([]);
    expect(ofOne([{ arrayOf: ['string'] }], { arrayOf: 'string' })).to.deep.equal([]);
  });

  it('reports a property if its declared kind differs from the value of the driver', () => {
    expect(ofOne(['number'], 'string')).to.deep.equal(['a is declared as declared, but type arrives as string']);
    expect(ofOne(['string'], 'Date')).to.deep.equal(['a is declared as declared, but type arrives as Date']);
    expect(ofOne([{ arrayOf: ['number'] }], { arrayOf: 'string' })).to.deep.equal([
      'a is declared as declared, but type arrives as string[]',
    ]);
    expect(ofOne(['string'], { arrayOf: 'string' })).to.have.length(1);
  });

  it('accepts any declared type for a JSON column, except types that JSON does not have', () => {
    expect([
      ...ofOne(['object'], 'json'),
      ...ofOne(['number'], 'json'),
      ...ofOne([{ arrayOf: ['object'] }], 'json'),
    ]).to.deep.equal([]);
    expect(ofOne(['Date'], 'json')).to.deep.equal(['a is declared as declared, but type arrives as json']);
  });

  it('reports a declared property without a column, unless it is optional', () => {
    const properties = [property('a', ['string']), property('b', ['string'], { optional: true })];
    expect(rowDifferences({ properties, others: undefined }, [])).to.deep.equal([
      'a is declared as declared, but the statement selects no such column',
    ]);
  });

  it('reports a column that is not declared, unless the row allows any column name', () => {
    expect(rowDifferences({ properties: [], others: undefined }, [column('a', 'string')])).to.deep.equal([
      'a (type) is selected, but not declared',
    ]);
    const others = property('', ['string']);
    expect(rowDifferences({ properties: [], others }, [column('a', 'string')])).to.deep.equal([]);
  });

  it('reports a column that may be null, if its property is declared without null', () => {
    const of = (nullable: boolean) =>
      rowDifferences({ properties: [property('a', ['string'], { nullable })], others: undefined }, [
        column('a', 'string', true),
      ]);
    expect(of(false)).to.deep.equal(['a is declared as declared, but the column may be null']);
    expect(of(true)).to.deep.equal([]);
  });

  it('has no exception for a file that does not exist', () => {
    const missing = acceptedNulls.filter(({ file }) => !existsSync(path.join(projectDirectory, file)));
    expect(missing).to.deep.equal([]);
  });
});
