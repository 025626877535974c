/** Tests the archives of exports of clubs: their records, their names, and their consistency with the contract (EXP-12 to EXP-14). */
import { expect } from 'chai';
import { recordTypes } from '../../../domain/exports/clubs/record-types.ts';
import { recordFaults } from '../../toolkit/assert/contract-schemas.ts';
import { buildFurnishedClub } from '../../toolkit/builders/furnished-club.ts';
import { exportClub, type ReadArchive } from '../../toolkit/drive/club-exports.ts';

describe('the archive of a club with records of every kind', () => {
  let archive: ReadArchive;
  before(async () => {
    archive = await exportClub(await buildFurnishedClub());
  });

  it('has a file for each record type', () => {
    expect(archive.names).to.deep.equal(['manifest.json', ...recordTypes.map(({ name }) => `records/${name}.jsonl`)]);
  });

  it('has records of each type', () => {
    const empty = Object.entries(archive.lines).filter(([, lines]) => lines.length === 0);
    expect(empty.map(([name]) => name)).to.deep.equal([]);
  });

  it('has lines that follow the schemas of the contract', () => {
    const faults = Object.entries(archive.lines).flatMap(([name, lines]) =>
      lines.flatMap(({ record }) => recordFaults(name, record).map((fault) => `${name}: ${fault}`)),
    );
    expect([...new Set(faults)]).to.deep.equal([]);
  });
});
