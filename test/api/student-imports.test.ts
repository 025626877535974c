import { expect } from 'chai';
import { importRules } from '../../domain/access/imports/imports.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { studentsOf } from '../toolkit/assert/students.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import {
  importFile,
  importDeps,
  importsPath,
  readImport,
  reportOf,
  runImport,
  shortReport,
  step,
  storedOf,
  upload,
} from '../toolkit/drive/imports.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { factsOf, mailsTo, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const header = 'email,name\n';

describe('student imports', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('POST /v1/clubs/{clubId}/student-imports', () => {
    describe('202', () => {
      it('stores the file, and returns the complete record with the status pending', async () => {
        const { id: deliveryId } = await buildAccessDelivery(club.id);
        const query = `delivery_ids=${deliveryId.toUpperCase()}&invite=true&file_name=spring%20class.csv`;
        const { status, body } = await upload(
          club,
          'name,E-Mail,Email,phone\nAda,,ada@example.com,1\nBo,,bo@example.com,2',
          query,
        );
        expect(status).to.equal(202);
        const { id, created_at: createdAt } = body.data;
        expect(body.data).to.deep.equal({
          id,
          status: 'pending',
          file_name: 'spring class.csv',
          delivery_ids: [deliveryId],
          invite: true,
          ignored_columns: ['E-Mail', 'phone'],
          rows_total: 2,
          rows_done: 0,
          created: 0,
          existing: 0,
          failed: 0,
          created_at: createdAt,
        });
        expect(await readImport(club, id)).to.deep.equal(body.data);
        expect(await storedOf(club)).to.deep.equal([`student-imports/${club.id}/${id}.csv`]);
      });

      it('creates students, grants deliveries, reports each row, and erases the file', async () => {
        const { id: deliveryId } = await buildAccessDelivery(club.id);
        const known = await buildStudent(club.id, { email: 'known@example.com' });
        const record = await importFile(
          club,
          `${header}ada@example.com,  Ada   Example \nKNOWN@example.com,Somebody\nbo@example.com,Bo\n`,
          `delivery_ids=${deliveryId}`,
        );
        expect(record).to.deep.include({
          status: 'completed',
          rows_total: 3,
          rows_done: 3,
          created: 2,
          existing: 1,
          failed: 0,
        });
        expect(record.started_at).to.be.a('string');
        expect(record.completed_at).to.be.a('string');
        expect(await studentsOf(club)).to.deep.equal([
          { email: 'ada@example.com', name: 'Ada Example', deliveries: [deliveryId] },
          { email: 'bo@example.com', name: 'Bo', deliveries: [deliveryId] },
          { email: 'known@example.com', name: 'Stella Student', deliveries: [deliveryId] },
        ]);
        const rows = await reportOf(club, record.id);
        const [ada, , bo] = rows.map(({ student_id: id = '' }) => id);
        expect(rows).to.deep.equal([
          { row: 2, outcome: 'created', student_id: ada },
          { row: 3, outcome: 'existing', student_id: known.id },
          { row: 4, outcome: 'created', student_id: bo },
        ]);
        expect(await factsOf(club.id)).to.deep.equal([
          { type: 'student.created', studentId: ada },
          { type: 'student.created', studentId: bo },
          { type: 'access.granted', studentId: ada },
          { type: 'access.granted', studentId: bo },
          { type: 'access.granted', studentId: known.id },
        ]);
        expect(await storedOf(club)).to.deep.equal([]);
        expect(await mailsTo(ada ?? '')).to.deep.equal([]);
      });

      it('mails an invitation to new students only, if `invite` is true', async () => {
        const known = await buildStudent(club.id);
        const record = await importFile(club, `${header}${known.email},X\nada@example.com,Ada\n`, 'invite=true');
        const [existing, created] = await reportOf(club, record.id);
        expect(await mailsTo(created?.student_id ?? '')).to.deep.equal(['student_invitation']);
        expect(await mailsTo(existing?.student_id ?? '')).to.deep.equal([]);
      });

      it('changes nothing and sends no mails if the same file is imported again', async () => {
        const deliveries = [await buildAccessDelivery(club.id), await buildAccessDelivery(club.id)]
          .map(({ id }) => id)
          .join(',');
        const file = `${header}ada@example.com,Ada\nbo@example.com,Bo\n`;
        await importFile(club, file, `delivery_ids=${deliveries}&invite=true`);
        const [facts, students] = [await factsOf(club.id), await studentsOf(club)];
        const { transactional_mails: mails, enrollments } = await rowCounts();
        const again = await importFile(club, file, `delivery_ids=${deliveries}&invite=true`);
        expect(again).to.include({ created: 0, existing: 2, failed: 0 });
        expect([await factsOf(club.id), await studentsOf(club)]).to.deep.equal([facts, students]);
        expect(await rowCounts()).to.include({ transactional_mails: mails, enrollments });
      });

      it('reports limit_reached for each new student above the plan’s allowance', async () => {
        const file = `${header}${Array.from({ length: 103 }, (_, at) => `s${at}@example.com,S ${at}`).join('\n')}`;
        const { body } = await upload(club, file);
        await buildPlan(club.id, 'starter');
        await buildStudent(club.id, { email: 's102@example.com' });
        await runImport(body.data.id);
        expect(await readImport(club, body.data.id)).to.include({ created: 99, existing: 1, failed: 3 });
        expect((await shortReport(club, body.data.id)).slice(99)).to.deep.equal([
          '101 failed limit_reached',
          '102 failed limit_reached',
          '103 failed limit_reached',
          '104 existing',
        ]);
      });
    });

    it('returns 402 for a plan without imports, and writes nothing', async () => {
      await buildPlan(club.id, 'starter');
      const before = await rowCounts();
      expectError(await upload(club, `${header}ada@example.com,Ada`), 'feature_not_in_plan');
      expect([await rowCounts(), await storedOf(club)]).to.deep.equal([before, []]);
    });

    it('returns 409 too_many_imports while ten imports of the club are open, even to simultaneous requests', async () => {
      const other = await buildClub();
      const one = (of = club) => upload(of, `${header}a@example.com,A`);
      const answers = await Promise.all(Array.from({ length: importRules.maxOpen + 3 }, () => one()));
      const [taken, refused] = [202, 409].map((expectedStatus) =>
        answers.filter(({ status }) => status === expectedStatus),
      );
      expect([taken?.length, refused?.length]).to.deep.equal([10, 3]);
      for (const answer of refused ?? []) expectError(answer, 'too_many_imports');
      const before = await rowCounts();
      expectError(await one(), 'too_many_imports');
      expect(await rowCounts()).to.deep.equal(before);
      expect(await storedOf(club)).to.have.length(10);
      expect((await one(other)).status).to.equal(202);
      const { id } = taken?.[0]?.body.data ?? {};
      expect((await call('POST', importsPath(club, id, 'cancel'), { token: club.owner.token })).status).to.equal(200);
      expect((await one()).status).to.equal(202);
      expectError(await one(), 'too_many_imports');
    });

    it('returns 404 for a delivery that is unknown or of another club, and 409 for an archived delivery', async () => {
      const good = await buildAccessDelivery(club.id);
      const foreign = await buildAccessDelivery((await buildClub()).id);
      const archived = await buildAccessDelivery(club.id, { archived: true });
      const before = await rowCounts();
      const order = (id: string) => upload(club, `${header}a@example.com,A`, `delivery_ids=${good.id},${id}`);
      await eachCase([newId(), foreign.id], async (id) => expectError(await order(id), 'not_found'));
      expectError(await order(archived.id), 'delivery_archived');
      expect([await rowCounts(), await storedOf(club)]).to.deep.equal([before, []]);
    });

    it('returns 400, 413 or 415 for an invalid body, type or query, and writes nothing', async () => {
      const before = await rowCounts();
      const file = `${header}ada@example.com,Ada`;
      const type = (value: string) => ({ headers: { 'content-type': value } });
      expectError(await upload(club, ''), 'malformed_request');
      expectError(await upload(club, file, 'unexpected=1'), 'malformed_request');
      expectError(await upload(club, file, 'invite=yes'), 'malformed_request');
      expectError(await upload(club, Buffer.alloc(32 * 1_024 * 1_024 + 1, 'a')), 'body_too_large');
      await eachCase(
        ['application/json', 'text/plain', 'text/csv; charset=utf-16le', 'text/csv; charset=latin1'],
        async (other) => expectError(await upload(club, file, '', type(other)), 'unsupported_media_type'),
      );
      expectError(await upload(club, file, '', { headers: { 'content-encoding': 'gzip' } }), 'unsupported_media_type');
      const elsewhere = { token: club.owner.token, raw: file, ...type('text/csv') };
      expectError(await call('POST', `/v1/clubs/${club.id}/students`, elsewhere), 'unsupported_media_type');
      expect([await rowCounts(), await storedOf(club)]).to.deep.equal([before, []]);
    });

    it('returns 422 for malformed, repeated or too many delivery_ids, and for a long file name', async () => {
      const before = await rowCounts();
      const id = newId();
      const many = Array.from({ length: 51 }, () => newId()).join(',');
      await eachCase(
        [
          'delivery_ids=',
          'delivery_ids=x',
          `delivery_ids=${id},`,
          `delivery_ids=${id},${id}`,
          `delivery_ids=${many}`,
          `file_name=${'a'.repeat(201)}`,
        ],
        async (query) => expectError(await upload(club, `${header}a@example.com,A`, query), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 422 if the first line does not name the columns correctly, and writes nothing', async () => {
      const before = await rowCounts();
      const files: (string | Buffer)[] = [
        '\n',
        '\ufeff',
        'ada@example.com,Ada\n',
        'name\nAda\n',
        'email\nada@example.com\n',
        'email|name\nada@example.com|Ada\n',
        'email,name,Email\n',
        '"email,name\nada@example.com,Ada\n',
        'x'.repeat(70_000),
        Buffer.from('\ufeffemail,name\nada@example.com,Ada\n', 'utf16le'),
        Buffer.from('email,name\nada@example.com,Ada\n', 'utf16le'),
        Buffer.from('email,name,\xe9\n', 'latin1'),
      ];
      await eachCase(files, async (file) => expectError(await upload(club, file), 'invalid_request'));
      expect([await rowCounts(), await storedOf(club)]).to.deep.equal([before, []]);
    });
  });

  describe('GET /v1/clubs/{clubId}/student-imports', () => {
    it('lists this club’s imports newest first, in pages', async () => {
      await upload(await buildClub(), `${header}a@example.com,A`);
      const ids = [];
      for (const name of ['one', 'two', 'three'])
        ids.unshift((await upload(club, header, `file_name=${name}`)).body.data.id);
      const { body } = await call('GET', `${importsPath(club)}?page_size=2`, { token: club.owner.token });
      expect([body.total, body.data.map(({ id }: { id: string }) => id)]).to.deep.equal([3, ids.slice(0, 2)]);
    });
  });

  describe('GET /v1/clubs/{clubId}/student-imports/{importId} and its rows', () => {
    it('lists the rows with one outcome, and their total', async () => {
      const { id } = await importFile(club, `${header}a@example.com,A\nb,B\nc@example.com,C\na@example.com,A\n`);
      await eachCase(
        [
          ['created', [2, 4]],
          ['failed', [3, 5]],
          ['existing', []],
        ] as const,
        async ([outcome, rows]) => {
          const path = `${importsPath(club, id, 'rows')}?outcome=${outcome}`;
          const { body } = await call('GET', path, { token: club.owner.token });
          expect([body.total, body.data.map(({ row }: { row: number }) => row)]).to.deep.equal([rows.length, rows]);
        },
      );
    });

    it('returns 404 for an unknown import and an import of another club', async () => {
      const foreign = await upload(await buildClub(), `${header}a@example.com,A`);
      await eachCase([newId(), foreign.body.data.id], async (id) => {
        expectError(await call('GET', importsPath(club, id), { token: club.owner.token }), 'not_found');
        expectError(await call('GET', importsPath(club, id, 'rows'), { token: club.owner.token }), 'not_found');
        expectError(await call('POST', importsPath(club, id, 'cancel'), { token: club.owner.token }), 'not_found');
      });
    });

    it('returns 422 for an unknown outcome', async () => {
      const path = `${importsPath(club, newId(), 'rows')}?outcome=lost`;
      expectError(await call('GET', path, { token: club.owner.token }), 'invalid_request');
    });
  });

  describe('POST /v1/clubs/{clubId}/student-imports/{importId}/cancel', () => {
    const cancel = (id: string) => call('POST', importsPath(club, id, 'cancel'), { token: club.owner.token });
    const people = (count: number) => Array.from({ length: count }, (_, at) => `s${at}@example.com,S ${at}\n`).join('');

    it('keeps the finished rows, skips the others and erases the file', async () => {
      const { body } = await upload(club, header + people(700));
      await step(body.data.id);
      const { status, body: canceled } = await cancel(body.data.id);
      expect(status).to.equal(200);
      expect(canceled.data).to.include({ status: 'canceled', created: 500, rows_done: 500, rows_total: 700 });
      expect(await runImport(body.data.id)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect((await cancel(body.data.id)).body).to.deep.equal(canceled);
      expect([(await studentsOf(club)).length, await storedOf(club)]).to.deep.equal([500, []]);
    });

    it('skips a whole batch if the request arrives before the worker records it', async () => {
      const { body } = await upload(club, header + people(600));
      const { id } = body.data;
      const slow = await importDeps(() => ({
        failpoint: async (name) => {
          if (name === 'batch_read') await cancel(id);
        },
      }));
      await step(id, slow);
      expect(await readImport(club, id)).to.include({ status: 'canceled', rows_done: 0 });
      expect([await studentsOf(club), await factsOf(club.id)]).to.deep.equal([[], []]);
    });

    it('finishes a whole batch if the request arrives while the worker records it', async () => {
      const { body } = await upload(club, header + people(600));
      const { id } = body.data;
      // The batch has already read the status of the import, and waits for the lock on the count of the club's students.
      const [, canceled] = await inThisOrder(
        sql`INSERT INTO club_student_counts AS counted (club_id, students) VALUES (${club.id}, 0)
            ON CONFLICT (club_id) DO UPDATE SET students = counted.students`,
        () => step(id),
        () => cancel(id),
      );
      expect(canceled.status).to.equal(200);
      expect(await readImport(club, id)).to.include({ status: 'canceled', rows_done: 500 });
      expect(await studentsOf(club)).to.have.length(500);
    });

    it('returns 409 for an import that has ended', async () => {
      const { id } = await importFile(club, `${header}a@example.com,A`);
      const before = await readImport(club, id);
      expectError(await cancel(id), 'import_ended');
      expect(await readImport(club, id)).to.deep.equal(before);
      const source = await testDatabase();
      await source.query(`UPDATE student_imports SET status = 'failed', error = 'file_missing' WHERE id = $1`, [id]);
      expectError(await cancel(id), 'import_ended');
    });
  });
});
