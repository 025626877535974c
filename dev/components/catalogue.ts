/** The programs that npm does not provide, with their pinned versions and sources. */
import os from 'node:os';
import { askProgram } from '../../platform/infra/programs/programs.ts';
import { drawsPage, npmChromium, playwrightChromium } from './chromium.ts';
import { downloadArchive } from './download.ts';
import { npmFfmpeg, pressesVideo, renditionFlaw } from './ffmpeg.ts';
import { goInstall } from './go.ts';
import { compiledRedis, mavenRedis } from './redis.ts';
import { mavenTestServer, startsAsTestServer } from './test-server.ts';
import { versionFlaw } from './version.ts';

export interface Source {
  readonly title: string;
  /** Puts the executable into the directory. Throws an error with the reason if that fails. */
  fetch(directory: string, report: (line: string) => void): Promise<void>;
}

export interface Component {
  /** The name in messages. */
  readonly title: string;
  /** Its name on the PATH and in the cache. */
  readonly executable: string;
  /** The version that the sources provide. The directory in the cache has this name. */
  readonly version: string;
  /** An environment variable by which the user can name another executable. */
  readonly variable: string;
  /** In the order in which they are tried. */
  readonly sources: readonly Source[];
  /** Programs that the user can install, so that one of the sources works. */
  readonly advice: readonly string[];
  /** Says why an executable on the PATH is unusable; undefined if it is usable. */
  flawOf(executable: string): Promise<string | undefined>;
  /** Throws if a newly installed executable does not work on this machine. */
  check(executable: string): Promise<void>;
}

const temporalVersion = '1.5.1';
const versitygwVersion = '1.8.0';
const testServerVersion = '1.38.0';
const imapServerVersion = '2.0.0-beta.8';
/** The patch version of the package differs between platforms. */
const redisVersion = '6.2';
const redisPatch = '6.2.14';
/** The version of the npm package. The other source is the build with which playwright-core was tested. */
const chromiumVersion = '153.0.0';
/** The npm packages have different versions for each platform. */
const ffmpegVersion = '4.1';
const ffmpegPackages = {
  'linux-x64': '@ffmpeg-installer/linux-x64@4.1.0',
  'linux-arm64': '@ffmpeg-installer/linux-arm64@4.1.4',
  'darwin-x64': '@ffmpeg-installer/darwin-x64@4.1.0',
  'darwin-arm64': '@ffmpeg-installer/darwin-arm64@4.1.5',
} as const;

/** The first server whose task queues support fairness keys. */
const oldestTemporalServer = '1.29.0';
/** This release is about two years old. playwright-core may not work with older ones. */
const oldestChromium = '131';

const { linux, amd64 } = { linux: os.platform() === 'linux', amd64: os.arch() === 'x64' };
const goArchitecture = amd64 ? 'amd64' : os.arch();
const github = 'https://github.com';

const installGo = 'install Go 1.25 or newer (https://go.dev/dl) and try again: it is then built from source';

/** `npm start` uses only the first two programs. The others are for tests, and `npm start -- --components` installs them. */
export const components = {
  temporal: {
    title: 'Temporal',
    executable: 'temporal',
    version: temporalVersion,
    variable: 'TEMPORAL_BINARY',
    sources: [
      downloadArchive({
        url: `${github}/temporalio/cli/releases/download/v${temporalVersion}/temporal_cli_${temporalVersion}_${os.platform()}_${goArchitecture}.tar.gz`,
        checksums: `${github}/temporalio/cli/releases/download/v${temporalVersion}/checksums.txt`,
        member: 'temporal',
      }),
      downloadArchive({
        url: `https://temporal.download/cli/archive/v${temporalVersion}?platform=${os.platform()}&arch=${goArchitecture}`,
        member: 'temporal',
      }),
      goInstall({
        module: `github.com/temporalio/cli/cmd/temporal@v${temporalVersion}`,
        executable: 'temporal',
        duration: '3 to 5 minutes the first time',
      }),
    ],
    advice: [installGo, 'install the Temporal CLI: https://docs.temporal.io/cli (macOS: brew install temporal)'],
    flawOf: versionFlaw({
      pattern: /\(server (\d+\.\d+\.\d+)/i,
      oldest: oldestTemporalServer,
      found: (version) => `holds server ${version}`,
      unknown: 'does not print the version of its server',
    }),
    check: answersVersion,
  },
  versitygw: {
    title: 'S3 server',
    executable: 'versitygw',
    version: versitygwVersion,
    variable: 'VERSITYGW_BINARY',
    sources: [
      downloadArchive({
        url: `${github}/versity/versitygw/releases/download/v${versitygwVersion}/${versitygwArchive()}.tar.gz`,
        checksums: `${github}/versity/versitygw/releases/download/v${versitygwVersion}/checksums.txt`,
        member: `${versitygwArchive()}/versitygw`,
      }),
      goInstall({
        module: `github.com/versity/versitygw/cmd/versitygw@v${versitygwVersion}`,
        executable: 'versitygw',
        duration: 'about a minute the first time',
      }),
    ],
    advice: [installGo, `download it: ${github}/versity/versitygw/releases/tag/v${versitygwVersion}`],
    // `go install` leaves "git" as the version.
    flawOf: versionFlaw({ pattern: /^Version *: *(?:v?(\d+\.\d+\.\d+)|git)/m, oldest: versitygwVersion }),
    check: answersVersion,
  },
  testServer: {
    title: 'Time-skipping test server',
    executable: 'temporal-test-server',
    version: testServerVersion,
    variable: 'TEMPORAL_TEST_SERVER_BINARY',
    sources: [
      downloadArchive({
        url: `${github}/temporalio/sdk-java/releases/download/v${testServerVersion}/${testServerArchive()}.tar.gz`,
        member: `${testServerArchive()}/temporal-test-server`,
      }),
      mavenTestServer(testServerVersion),
    ],
    advice: [
      'install Java 11 or newer and Maven, and try again (Debian: apt-get install default-jre-headless maven; macOS: brew install maven)',
      `download it: ${github}/temporalio/sdk-java/releases/tag/v${testServerVersion}`,
    ],
    flawOf: async () => undefined,
    check: startsAsTestServer,
  },
  redis: {
    title: 'Redis',
    executable: 'redis-server',
    version: redisVersion,
    variable: 'REDIS_SERVER_BINARY',
    sources: [
      compiledRedis({
        url: `https://download.redis.io/releases/redis-${redisPatch}.tar.gz`,
        checksums: 'https://raw.githubusercontent.com/redis/redis-hashes/master/README',
      }),
      mavenRedis('1.4.3'),
    ],
    advice: [
      'install Redis (Debian: apt-get install redis-server; macOS: brew install redis)',
      'install Java 11 or newer and Maven, and try again (Debian: apt-get install default-jre-headless maven; macOS: brew install maven)',
    ],
    flawOf: versionFlaw({ pattern: /server v=(\d+\.\d+\.\d+)/i, oldest: redisVersion }),
    check: answersVersion,
  },
  chromium: {
    title: 'Chromium',
    executable: 'chromium',
    version: chromiumVersion,
    variable: 'CHROMIUM_BINARY',
    sources: [playwrightChromium(), npmChromium(`@sparticuz/chromium@${chromiumVersion}`)],
    advice: ['install Chromium (Debian: apt-get install chromium; macOS: brew install --cask chromium)'],
    flawOf: versionFlaw({ pattern: /(\d+)\.\d+\.\d+\.\d+/, oldest: oldestChromium }),
    check: drawsPage,
  },
  ffmpeg: {
    title: 'ffmpeg',
    executable: 'ffmpeg',
    version: ffmpegVersion,
    variable: 'FFMPEG_BINARY',
    sources: [npmFfmpeg(ffmpegPackages)],
    advice: ['install ffmpeg (Debian: apt-get install ffmpeg; macOS: brew install ffmpeg)'],
    flawOf: renditionFlaw,
    check: pressesVideo,
  },
} satisfies Record<string, Component>;

/** Only tests of the mailbox of reports use this program, and only Go builds it. So it is fetched when such a test begins. */
export const imapServer: Component = {
  title: 'IMAP server',
  executable: 'imapmemserver',
  version: imapServerVersion,
  variable: 'IMAPMEMSERVER_BINARY',
  sources: [
    goInstall({
      module: `github.com/emersion/go-imap/v2/cmd/imapmemserver@v${imapServerVersion}`,
      executable: 'imapmemserver',
      duration: 'some seconds',
    }),
  ],
  advice: [installGo],
  flawOf: async () => undefined,
  check: async () => undefined,
};

async function answersVersion(executable: string): Promise<void> {
  await askProgram(executable, ['--version']);
}

function versitygwArchive(): string {
  return `versitygw_v${versitygwVersion}_${linux ? 'Linux' : 'Darwin'}_${amd64 ? 'x86_64' : os.arch()}`;
}

function testServerArchive(): string {
  return `temporal-test-server_${testServerVersion}_${linux ? 'linux' : 'macOS'}_${goArchitecture}`;
}
