/** A name server for tests, over UDP on the loopback address. A function of the test answers the queries for A, AAAA and TXT records. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface NameServer {
  address: string;
  /** The queried names, one per query. */
  questions: string[];
  stop(): void;
}

const typeA = 1;
const typeAaaa = 28;
const typeTxt = 16;
const cannotTell = 2;
const noSuchName = 3;

/**
 * The data of a name: addresses or texts. If it is undefined, the name does not exist. If it is `failure`, the server reports an error.
 * If it is `silence`, the server does not answer.
 */
type Known = readonly string[] | { texts: readonly string[] } | 'failure' | 'silence' | undefined;

export async function startNameServer(answer: (name: string) => Known): Promise<NameServer> {
  const questions: string[] = [];
  const socket = createSocket('udp4', (message, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = message.readUInt16BE(at + 1);
    const question = message.subarray(12, at + 5);
    questions.push(labels.join('.'));
    const known = answer(labels.join('.').toLowerCase());
    if (known === 'silence') return;
    const records =
      known === undefined || known === 'failure'
        ? []
        : 'texts' in known
          ? known.texts.map(textRecord)
          : known.map(addressRecord);
    const matchingRecords = records.filter((record) => record.readUInt16BE(2) === type);
    const header = Buffer.alloc(12);
    header.writeUInt16BE(message.readUInt16BE(0), 0);
    header.writeUInt16BE(0x8180 | (known === 'failure' ? cannotTell : known ? 0 : noSuchName), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(matchingRecords.length, 6);
    socket.send(Buffer.concat([header, question, ...matchingRecords]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, questions, stop: () => socket.close() };
}

const addressRecord = (address: string) =>
  recordOf(isIPv4(address) ? typeA : typeAaaa, Buffer.from(ipaddr.parse(address).toByteArray()));

/** A TXT record in pieces of at most 255 bytes, as DNS requires. */
function textRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 255) || 1 }, (_, piece) =>
    bytes.subarray(piece * 255, (piece + 1) * 255),
  );
  return recordOf(typeTxt, Buffer.concat(pieces.flatMap((piece) => [Buffer.of(piece.length), piece])));
}

function recordOf(type: number, data: Buffer): Buffer {
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(3_600, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
