/** Tests that a person has named each constraint in new migrations. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

/** TypeORM derived the names of this and earlier migrations by a hash, such as `PK_6a6ac0efdf2d2e09bef23e5c2d8`. */
const lastWithHashes = 1_795_765_000_100;
const directory = new URL('../../entities/migrations/', import.meta.url);

const hashes = (text: string) => text.match(/\b[A-Z]+_[0-9a-f]{20,}\b/g) ?? [];

describe('the constraints of new migrations', () => {
  it('contain no names that TypeORM derived', () => {
    const later = readdirSync(directory).filter((file) => Number.parseInt(file, 10) > lastWithHashes);
    const found = later.flatMap((file) =>
      hashes(readFileSync(new URL(file, directory), 'utf8')).map((name) => `${file}: ${name}`),
    );
    expect(
      found,
      'Name the constraint: primaryKeyConstraintName of @PrimaryColumn, foreignKeyConstraintName of @JoinColumn',
    ).to.deep.equal([]);
  });

  it('are found by a name that TypeORM derived', () => {
    const statement = 'CREATE TABLE "tags" ("id" uuid, CONSTRAINT "PK_6a6ac0efdf2d2e09bef23e5c2d8" PRIMARY KEY ("id"))';
    expect(hashes(statement)).to.deep.equal(['PK_6a6ac0efdf2d2e09bef23e5c2d8']);
    expect(hashes(statement.replace('PK_6a6ac0efdf2d2e09bef23e5c2d8', 'tags_pkey'))).to.deep.equal([]);
  });
});
