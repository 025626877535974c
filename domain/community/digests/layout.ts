/** The mail of a digest: its frame is compiled once, and filled in for each student (COMM-18). Everything that people wrote is escaped. */
import { LRUCache } from 'lru-cache';
import { zoneHere } from '../../../platform/core/time-zones.ts';
import { escapeHtml } from '../../../platform/core/text.policy.ts';
import type { Letterhead } from '../../mail/content/compile.ts';
import { frameMjml, mjmlToHtml } from '../../mail/content/frame.ts';
import { digestRules } from './digests.policy.ts';
import type { News, NewsOfSpace } from './news.ts';
import { plainLine, wordsOf } from './words.ts';

interface DigestMail {
  news: News;
  clubName: string;
  letterhead: Letterhead;
  /** Where the classroom is, without a slash at the end. */
  classroom: string;
  /** Of the club, in which times are shown. */
  timeZone: string;
  unsubscribeUrl: string;
}

/** Places of the frame, between two characters that nothing else has. */
const placeOf = (name: string) => `\uE000${name}\uE001`;
const places = /\uE000(\w+)\uE001/;

let compiled: Promise<string[]> | undefined;

/** @returns pieces of HTML and names of places, in turns */
function frame(): Promise<string[]> {
  compiled ??= mjmlToHtml(
    frameMjml({
      preheader: placeOf('preheader'),
      body: `<mj-text>${placeOf('body')}</mj-text>`,
      footer: placeOf('footer'),
    }),
  ).then((html) => html.split(places));
  return compiled;
}

/** Loads the compiler, where it is not loaded yet: nobody should wait for it with a claimed mail in hand. */
export async function prepareLayout(): Promise<Layout> {
  const pieces = await frame();
  return (mail) => render(pieces, mail);
}

export type Layout = (mail: DigestMail) => { subject: string; html: string; text: string };

function render(pieces: readonly string[], mail: DigestMail): ReturnType<Layout> {
  const { news, letterhead, unsubscribeUrl } = mail;
  const subject = `${newPosts(countOf(news.spaces))} at ${mail.clubName}`;
  const address = letterhead.postalAddress.split(/\r?\n/);
  const shown = news.spaces.map((space) => shownSpace(space, mail));
  const filled: Readonly<Record<string, string>> = {
    preheader: escapeHtml(news.spaces.map(({ name }) => name).join(', ')),
    body: [
      `<h1 dir="auto" style="margin:0 0 16px;font-size:24px;line-height:1.25">${escapeHtml(subject)}</h1>`,
      ...shown.map(spaceHtml),
      ...(news.moreSpaces > 0 ? [`<p>${escapeHtml(moreSpaces(news.moreSpaces))}</p>`] : []),
    ].join('\n'),
    footer: `<p dir="auto">${[letterhead.clubName, ...address].map(escapeHtml).join('<br>')}</p>
<p>You get this daily mail because you switched it on, or your club did for its spaces. <a href="${escapeHtml(unsubscribeUrl)}">Unsubscribe</a></p>`,
  };
  return {
    subject: subject.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    html: pieces.map((piece, at) => (at % 2 === 0 ? piece : (filled[piece] ?? ''))).join(''),
    text: `${[
      subject,
      ...shown.map(spaceText),
      ...(news.moreSpaces > 0 ? [moreSpaces(news.moreSpaces)] : []),
      `-- \n${letterhead.clubName}\n${letterhead.postalAddress}\n\nUnsubscribe: ${unsubscribeUrl}`,
    ].join('\n\n')}\n`,
  };
}

const countOf = (spaces: readonly NewsOfSpace[]) => spaces.reduce((sum, { count }) => sum + count, 0);
const newPosts = (count: number) => (count === 1 ? '1 new post' : `${count} new posts`);
const moreSpaces = (count: number) =>
  count === 1 ? 'There is something new in one more space.' : `There is something new in ${count} more spaces.`;

interface ShownPost {
  url: string;
  title: string;
  words: string;
  /** Empty where the account is gone. */
  author: string;
  time: string;
}

interface ShownSpace {
  url: string;
  name: string;
  posts: readonly ShownPost[];
  more: string;
}

/** By zone: one is slow to make, and each mail shows some times. */
const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: 100 });

function timesIn(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone: zoneHere(timeZone),
    day: 'numeric',
    month: 'long',
    hour: '2-digit',
    minute: '2-digit',
  });
  formats.set(timeZone, made);
  return made;
}

function shownSpace({ id, name, count, posts }: NewsOfSpace, { classroom, timeZone }: DigestMail): ShownSpace {
  const time = timesIn(timeZone);
  const more = count - posts.length;
  return {
    url: `${classroom}/community/spaces/${id}`,
    name,
    posts: posts.map((post) => ({
      url: `${classroom}/community/posts/${post.publicId}`,
      title: plainLine(post.title ?? '', digestRules.excerpt),
      words: wordsOf(post.body, digestRules.excerpt),
      author: plainLine(post.author ?? '', 100),
      time: time.format(post.at),
    })),
    more: more === 0 ? '' : `${newPosts(more)} more${count === digestRules.counted ? ', or even more' : ''}`,
  };
}

const linkHtml = (url: string, words: string, style = '') =>
  `<a href="${escapeHtml(url)}"${style === '' ? '' : ` style="${style}"`}>${escapeHtml(words)}</a>`;

function spaceHtml({ url, name, posts, more }: ShownSpace): string {
  return [
    `<h2 dir="auto" style="margin:24px 0 12px;font-size:18px;line-height:1.25">${linkHtml(url, name)}</h2>`,
    ...posts.map(postHtml),
    ...(more === '' ? [] : [`<p style="margin:0 0 12px">${linkHtml(url, more)}</p>`]),
  ].join('\n');
}

/** A long word must not make the mail wider than a phone. */
const paragraph = 'margin:0;overflow-wrap:anywhere;word-break:break-word';

function postHtml({ url, title, words, author, time }: ShownPost): string {
  const heading = title === '' ? '' : `<p dir="auto" style="${paragraph};font-weight:600">${linkHtml(url, title)}</p>`;
  const said = title === '' ? linkHtml(url, words === '' ? 'A post without words' : words) : escapeHtml(words);
  return `<div style="margin:0 0 16px">${heading}<p dir="auto" style="${paragraph}">${said}</p><p style="${paragraph};font-size:13px;color:#5b6270">${author === '' ? '' : `<bdi>${escapeHtml(author)}</bdi>, `}${time}</p></div>`;
}

function spaceText({ url, name, posts, more }: ShownSpace): string {
  return [
    `${name}\n${url}`,
    ...posts.map(({ title, words, author, time, url: post }) =>
      [title, words, author === '' ? time : `${author}, ${time}`, post].filter(Boolean).join('\n'),
    ),
    ...(more === '' ? [] : [more]),
  ].join('\n\n');
}
