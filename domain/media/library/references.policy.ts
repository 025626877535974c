/** Content elsewhere that a library refers to: which addresses are taken, and what of them is kept (MED-3, MED-9). Nothing is fetched. */
import type { ReferenceProvider } from '../../../entities/media/values.ts';
import { withoutEnd } from '../../../platform/core/ends.policy.ts';

/** Longest address that is read. */
const addressCharacters = 2_048;

interface Site {
  hosts: readonly string[];
  /** The id that stands in an address of the site; undefined for a page that shows no video. */
  idIn: (address: URL) => string | undefined;
  /** The whole of an id. */
  id: RegExp;
}

/** The segments of a path without empty ones. */
const segmentsOf = ({ pathname }: URL) => pathname.split('/').filter((segment) => segment !== '');

/** Paths that a video's id follows. */
const video1Paths = ['embed', 'shorts', 'live', 'v'];

const sites: Readonly<Record<'videosite1' | 'videosite2', Site>> = {
  videosite1: {
    hosts: [
      'youtube.com',
      'www.youtube.com',
      'm.youtube.com',
      'music.youtube.com',
      'www.youtube-nocookie.com',
      'youtu.be',
    ],
    id: /^[\w-]{11}$/,
    idIn(address) {
      const [first, second] = segmentsOf(address);
      if (address.hostname === 'youtu.be') return first;
      if (first === 'watch') return address.searchParams.get('v') ?? undefined;
      return video1Paths.includes(first ?? '') ? second : undefined;
    },
  },
  videosite2: {
    hosts: ['vimeo.com', 'www.vimeo.com', 'player.vimeo.com'],
    // Videos that are not listed have a key beside their number.
    id: /^\d{1,19}(?:\/[0-9a-f]{1,40})?$/,
    idIn(address) {
      const segments = segmentsOf(address);
      const at = segments.findIndex((segment) => /^\d+$/.test(segment));
      const number = segments[at];
      if (number === undefined) return undefined;
      const key = address.searchParams.get('h') ?? segments[at + 1];
      return key === undefined ? number : `${number}/${key}`;
    },
  },
};

/** Of the protected player. */
const playerId = /^[\w-]{1,128}$/;

/**
 * @param given an id, or an address as somebody pastes it
 * @returns what is kept as `external_id`: the id of a video site, the id or the address of a protected video, the address of
 *   anything else; undefined for what is none of the provider's
 */
export function externalIdOf(provider: ReferenceProvider, given: string): string | undefined {
  const text = given.trim();
  if (provider === 'external') return addressOf(text)?.href;
  if (provider === 'protectedvideo') return playerId.test(text) ? text : addressOf(text)?.href;
  const site = sites[provider];
  if (site.id.test(text)) return text;
  // People paste addresses without their scheme.
  const address = addressOf(/^https?:/i.test(text) ? text.replace(/^http:/i, 'https:') : `https://${text}`);
  if (!address || !site.hosts.includes(address.hostname)) return undefined;
  const id = site.idIn(address);
  return id !== undefined && site.id.test(id) ? id : undefined;
}

// oxlint-disable-next-line no-control-regex -- none of these stands in an address that somebody reads before they follow it
const notOfAddresses = /[\u0000-\u0020\u007f-\u00a0\\<>"`{}|^\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/;
/** Names that only mean something inside a network, and addresses of machines: those in brackets have no dot. */
const privateName =
  /\.(?:localhost|local|internal|intranet|lan|home|corp|test|invalid|example|onion)$|^[^.]+$|^[\d.]+$/;

/** @returns an address on the public web that a browser opens without running anything here; undefined for any other text */
function addressOf(text: string): URL | undefined {
  if (text.length > addressCharacters || notOfAddresses.test(text) || !/^https:\/\/[^/]/i.test(text)) return undefined;
  const address = URL.parse(text);
  if (!address || address.username !== '' || address.password !== '' || address.port !== '') return undefined;
  if (privateName.test(withoutEnd(address.hostname, '.'))) return undefined;
  return address.href.length > addressCharacters ? undefined : address;
}
