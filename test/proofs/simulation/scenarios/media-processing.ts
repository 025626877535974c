/**
 * The scenario of uploaded files. Processes that read files die, the store is unavailable, and files and their uploaders are removed.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { mediaUses } from '../../../../domain/contexts.ts';
import { settleArrival } from '../../../../domain/media/storage/arrival.ts';
import { deleteAvatar } from '../../../../domain/media/purposes/avatars.ts';
import { eraseDue, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import {
  isKeptAsPicture,
  keptPictureBox,
  pictureBox,
  processingRules,
  renditionBoxes,
} from '../../../../domain/media/processing.policy.ts';
import { processOldFiles } from '../../../../domain/media/processing/old-files.ts';
import {
  reserveAgentImage,
  reserveAssignmentFile,
  reserveAvatar,
  reserveMedia,
  type AnnouncedFile,
  type Reservation,
} from '../../../../domain/media/uploads/reservation.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { MediaPurpose, MediaStatus } from '../../../../entities/media/values.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { addStoredFile, isCutOff } from './media-moves.ts';
import {
  contentOf,
  everyNature,
  findingOf,
  mailBox,
  pictureOf,
  simulatedProcessing,
  simulatedReaders,
  ThreadEnded,
  type Nature,
  type ReaderMood,
} from './processing.ts';
import { expectNamed, expectNothingElse, expectReadable, expectStorageSums, simulatedStore } from './store.ts';

/** A file that a person sent, or that existed from the beginning. */
interface SentFile {
  purpose: MediaPurpose;
  /** The announced type. */
  announced: string;
  nature: Nature;
  content: Buffer;
}

interface Row {
  id: Id;
  key: string | null;
  purpose: MediaPurpose;
  ownerId: Id | null;
  status: MediaStatus;
  error: string | null;
  mime: string | null;
  faults: number;
  isRemoved: boolean;
  looksAt: Date | null;
  isHeld: boolean;
  processedAt: Date | null;
  sha256: Buffer | null;
  crc32: number | null;
  renditions: { role: keyof typeof renditionBoxes | 'mail'; key: string; mime: string }[];
}

const dayMs = 86_400_000;
const announcedTypes = ['image/png', 'application/pdf', 'text/plain', 'video/mp4'] as const;

export async function mediaProcessing(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const clubId = await addClub(sim, ground);
  await sim.postgres.ask(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'professional', 'active')`, [
    clubId,
  ]);
  const students = await addStudents(sim, ground, clubId, 2);
  const store = simulatedStore(sim);
  const deps = { db: sim.db, storage: store.storage, mediaUses, vault, filesUrl: 'https://files.test' };
  let mood: ReaderMood = 'reads';
  const faults: unknown[] = [];
  const sentFiles = new Map<Id, SentFile>();
  const removed = new Set<Id>();
  await addOldFile('image', 'image/png');
  await addOldFile('pdf', 'application/pdf');

  async function addOldFile(nature: Nature, mime: string): Promise<void> {
    const id = newId();
    const content = contentOf(nature, sentFiles.size);
    sentFiles.set(id, { purpose: 'library', announced: mime, nature, content });
    await addStoredFile(sim, store, { id, clubId, content, mime, isProcessed: false });
  }

  /** Reserves, uploads and completes a file. Each of these steps may fail. */
  async function send(reserved: Reservation, file: Omit<SentFile, 'content'>): Promise<void> {
    const { id } = reserved.data;
    const content = contentOf(file.nature, sentFiles.size);
    sentFiles.set(id, { ...file, content });
    const objectKey = `media/${clubId}/${id}`;
    const until = Date.parse(reserved.upload.expires_at);
    await store.upload(until, objectKey, Readable.from([content]));
    await settleArrival(deps, { id, clubId, purpose: file.purpose, mime: file.announced, objectKey }, now());
  }

  const announce = (nature: Nature, mime: string): AnnouncedFile => ({
    fileName: 'file',
    mime,
    sizeBytes: contentOf(nature, sentFiles.size).length,
  });

  function sendToLibrary(decisions: Decisions): Command {
    const nature = decisions.pick(everyNature);
    const announced = decisions.pick(announcedTypes);
    return {
      label: `${nature} as ${announced} for the library`,
      run: async () =>
        send(await reserveMedia(deps, clubId, announce(nature, announced), now()), {
          purpose: 'library',
          announced,
          nature,
        }),
    };
  }

  function sendOfStudent(decisions: Decisions): Command {
    const nature = decisions.pick(everyNature);
    const owner = { clubId, studentId: decisions.pick(students) };
    const purpose = decisions.pick(['avatar', 'avatar', 'avatar', 'agent_image', 'assignment'] as const);
    const announcedType = purpose === 'assignment' ? decisions.pick(announcedTypes) : 'image/png';
    const reserve = { avatar: reserveAvatar, agent_image: reserveAgentImage, assignment: reserveAssignmentFile }[
      purpose
    ];
    return {
      label: `${nature} as ${purpose} of ${owner.studentId}`,
      run: async () =>
        send(await reserve(deps, owner, announce(nature, announcedType), now()), {
          purpose,
          announced: announcedType,
          nature,
        }),
    };
  }

  function remove(decisions: Decisions): Command {
    const studentId = decisions.pick(students);
    const position = decisions.choose(8);
    return decisions.pick<Command>([
      {
        label: `remove file ${position}`,
        async run() {
          const id = [...sentFiles.keys()][position % sentFiles.size];
          if (id === undefined) return;
          removed.add(id);
          await removeMedia(deps, clubId, id, now());
        },
      },
      {
        label: `${studentId} takes the picture away`,
        run() {
          removed.add(studentId);
          return deleteAvatar(deps, { clubId, studentId }, now());
        },
      },
      {
        label: `remove ${studentId}`,
        run() {
          removed.add(studentId);
          return removeStudent({ db: sim.db, vault }, clubId, studentId, now());
        },
      },
    ]);
  }

  const turn = (next: ReaderMood): Command => ({
    label: `the reader ${next}`,
    run() {
      mood = next;
    },
  });

  const upkeep: Command = {
    label: 'upkeep',
    async run() {
      await processOldFiles(sim.db, now());
      await eraseDue(deps, now());
      await eraseLeftovers(deps, now());
    },
  };

  return {
    types: ['mediaProcessing'],
    // If the process that reads a file breaks, the service tries seven times, the last time after a wait of two hours.
    horizonMs: 4 * 3_600_000,
    leaseMs: processingRules.leaseMs,
    depsFor: (db) => ({
      media: simulatedProcessing(db, {
        storage: store.storage,
        readers: simulatedReaders(sim, () => mood),
        onFault(error) {
          if (!isCutOff(error) && !(error instanceof ThreadEnded)) faults.push(error);
        },
      }),
    }),
    command(decisions) {
      const which = decisions.choose(18);
      if (which < 4) return sendToLibrary(decisions);
      if (which < 10) return sendOfStudent(decisions);
      if (which < 13) return remove(decisions);
      if (which === 13) return upkeep;
      if (which < 16) return turn(decisions.pick(['reads', 'is slow', 'breaks'] as const));
      return store.turn(decisions.pick(['answers', 'is slow', 'is away'] as const));
    },
    calm: () => [turn('reads'), store.turn('answers'), upkeep],
    async atRest() {
      const [fault] = faults;
      mustHold(faults.length === 0, 'no file is at fault', () => String(fault));
      await expectNamed(sim, store);
      await expectReadable(sim, store);
      const rows = await readRows();
      for (const row of rows) if (row.status === 'ready' && !row.isRemoved) expectFound(row);
      await expectShown(rows);
    },
    async atEnd() {
      const rows = await readRows();
      for (const row of rows) expectEnded(row);
      await expectStorageSums(sim);
      const standing = rows.filter(({ isRemoved, purpose }) => !isRemoved && purpose === 'library');
      for (const { id } of standing) await removeMedia(deps, clubId, id, now());
      for (const studentId of students) await removeIfThere(studentId);
      for (const days of [0, 2, 9]) {
        const later = new Date(sim.time.now + days * dayMs);
        await eraseDue(deps, later);
        await eraseLeftovers(deps, later);
      }
      await expectNothingElse(sim, store);
      const [leftover] = store.objects.keys();
      mustHold(leftover === undefined, 'objects without an owner are erased', () => `${leftover} is left`);
    },
  };

  async function removeIfThere(studentId: Id): Promise<void> {
    const rows = await sim.postgres.ask('SELECT FROM students WHERE id = $1 AND removed_at IS NULL', [studentId]);
    if (rows.length > 0) await removeStudent({ db: sim.db, vault }, clubId, studentId, now());
  }

  function readRows(): Promise<Row[]> {
    return sim.postgres.ask<Row>(
      `SELECT id, object_key AS key, purpose, owner_id AS "ownerId", status, error, mime, fault_count AS faults,
              removed_at IS NOT NULL AS "isRemoved", looks_at AS "looksAt", lease_until IS NOT NULL AS "isHeld",
              processed_at AS "processedAt", sha256, crc32::float AS crc32,
              (SELECT coalesce(json_agg(json_build_object('role', role, 'key', object_key, 'mime', mime) ORDER BY role), '[]')
                 FROM media_renditions WHERE media_id = media.id) AS renditions
         FROM media ORDER BY id`,
    );
  }

  /** Expects, whenever it is called, that the data of a ready file are true, and that its pictures show its content. */
  function expectFound(row: Row): void {
    const file = sentFiles.get(row.id);
    if (!file) return; // the API did not answer its reservation, so no file was sent
    const about = () =>
      `file ${row.id} is ${JSON.stringify(row)}, and was ${file.content.toString()} as ${file.announced}`;
    const finding = findingOf(file.nature, file);
    mustHold('mime' in finding && row.mime === finding.mime, 'a file is what it was found to be', about);
    const boxes = {
      preview: keptPictureBox(row.purpose) ?? renditionBoxes.preview,
      thumbnail: thumbnailOf(file),
      mail: mailBox,
    };
    for (const { role, key } of row.renditions) {
      const shownContent = store.objects.get(key)?.toString();
      mustHold(shownContent === pictureOf(file.content, boxes[role]).toString(), 'a picture shows its file', about);
    }
    const isPicture = isKeptAsPicture(row.purpose);
    mustHold(!isPicture || row.renditions.length === 1, 'a picture shows its file', about);
    if (row.sha256 === null) return;
    const whole = isPicture ? pictureOf(file.content, boxes.preview) : file.content;
    const digest = createHash('sha256').update(whole).digest();
    mustHold(row.crc32 === crc32(whole) && digest.equals(row.sha256), 'checksums are of the file', about);
  }

  /** Expects that a student has at most one picture, which belongs to the student and exists. */
  async function expectShown(rows: readonly Row[]): Promise<void> {
    const studentRows = await sim.postgres.ask<{ id: Id; key: string | null }>(
      'SELECT id, avatar_key AS key FROM students',
    );
    for (const { id, key } of studentRows) {
      const avatars = rows.filter(
        ({ ownerId, purpose, status }) => ownerId === id && purpose === 'avatar' && status === 'ready',
      );
      const standing = avatars.filter(({ isRemoved }) => !isRemoved);
      const isShown =
        standing.length === 0 ? key === null : standing.length === 1 && standing[0]?.renditions[0]?.key === key;
      mustHold(isShown, 'one picture shows a student', () => JSON.stringify({ id, key, standing }));
      mustHold(
        standing.length === 1 || avatars.length === 0 || removed.has(id),
        'a picture is removed only if another picture replaces it',
        () => `${id} has no picture`,
      );
    }
  }

  function expectEnded(row: Row): void {
    const { id, key, purpose, ownerId, status, error, faults: count, isRemoved, renditions } = row;
    const file = sentFiles.get(id);
    const about = () =>
      `file ${id} is ${JSON.stringify(row)}, and was ${file?.content.toString()} as ${file?.announced}`;
    mustHold(row.looksAt === null && !row.isHeld && status !== 'processing', 'all work ends', about);
    if (isRemoved) {
      const isAsked = purpose === 'avatar' || removed.has(ownerId ?? id);
      mustHold(isAsked, 'no student loses a file', about);
      return;
    }
    if (!file || status === 'uploading') return;
    const finding = findingOf(file.nature, file);
    const hasGivenUp = count >= processingRules.maxFaults - 1;
    if (status === 'failed') {
      const isBroken = isKeptAsPicture(purpose) && file.nature === 'torn' && error === 'image_broken';
      const isRefused = 'error' in finding && error === finding.error;
      const isLate = error === 'upload_expired';
      mustHold(
        isBroken || isRefused || isLate || (error === 'inspection_failed' && hasGivenUp),
        'a file fails for a reason',
        about,
      );
      return;
    }
    if (hasGivenUp) return;
    mustHold(row.processedAt !== null && row.sha256 !== null, 'all work ends', about);
    const roles = renditions.map(({ role }) => role).join();
    mustHold(roles === rolesOf(file), 'a file has its pictures', () => `${about()}: it should have ${rolesOf(file)}`);
    if (isKeptAsPicture(purpose)) mustHold(store.objects.get(key ?? '')?.length === 0, 'an original goes', about);
  }
}

const thumbnailOf = ({ nature }: SentFile) => (nature === 'pdf' ? pictureBox : renditionBoxes.thumbnail);

function rolesOf({ purpose, nature }: SentFile): string {
  if (isKeptAsPicture(purpose)) return 'preview';
  if (purpose !== 'library') return '';
  if (nature === 'pdf') return 'thumbnail';
  return nature === 'image' ? 'mail,preview,thumbnail' : '';
}
