/** A name server for tests: UDP on the loopback, answering A and AAAA questions from a function. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface NameServer {
  /** `address:port`, as a resolver takes it. */
  address: string;
  /** Names asked for, each question once. */
  questions: string[];
  stop(): void;
}

const typeA = 1;
const typeAaaa = 28;
const noSuchName = 3;

/** @param answer the addresses of a name; undefined: there is no such name; `silence`: no answer at all */
export async function startNameServer(
  answer: (name: string) => readonly string[] | 'silence' | undefined,
): Promise<NameServer> {
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
    const addresses = answer(labels.join('.').toLowerCase());
    if (addresses === 'silence') return;
    const wanted = (addresses ?? []).filter((address) => type === (isIPv4(address) ? typeA : typeAaaa));
    const header = Buffer.alloc(12);
    header.writeUInt16BE(message.readUInt16BE(0), 0);
    header.writeUInt16BE(0x8180 | (addresses ? 0 : noSuchName), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(wanted.length, 6);
    socket.send(Buffer.concat([header, question, ...wanted.map(recordOf)]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, questions, stop: () => socket.close() };
}

/** A record for the question's name that may be cached for an hour. */
function recordOf(address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray());
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(data.length === 4 ? typeA : typeAaaa, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(3_600, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
