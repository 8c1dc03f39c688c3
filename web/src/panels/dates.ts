// SPDX-License-Identifier: Apache-2.0
// Texts that are dates, other than those that already sort by time: how pandas reads them, where all of them say it.

/** "time": pandas.to_datetime reads them with `how`. "file": which moment each is cannot be told; the file has an order. */
export type Dates = { order: "time"; how: string; isUtc: boolean } | { order: "file" };

const MONTH = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const LONG_MONTH = /^(january|february|march|april|may|june|july|august|september|october|november|december)$/i;
const TIME = "(?: ((?:[01]?\\d|2[0-3]):[0-5]\\d)(:[0-5]\\d)?)?";
const OFFSET = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/;
const MONTH_YEAR = new RegExp(`^(${MONTH})([ -])(\\d{4})$`, "i");
const YEAR_FIRST = new RegExp(`^(\\d{4})([-/.])(\\d{1,2})\\2(\\d{1,2})${TIME}$`);
const YEAR_LAST = new RegExp(`^(\\d{1,2})([-/.])(\\d{1,2})\\2(\\d{4})${TIME}$`);
const ISO_DAY = /^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?$/;
const LIKE_DATE = new RegExp(`^((\\d{1,2}[. -]+)?${MONTH}([. '-]+\\d{2,4}|[. ]+\\d{1,2}(, ?\\d{4})?)?|\\d{1,2}([-/.])\\d{1,2}\\5(\\d{2}|\\d{4})( \\d.*)?)$`, "i");

function format(text: string): Dates {
  return { order: "time", how: `format="${text}"`, isUtc: false };
}

type Texts = readonly (string | undefined)[];

/** The groups of all matches, one list for each group; null when one text does not match. */
function groupsOf(values: readonly string[], form: RegExp): Texts[] | null {
  const matches: RegExpExecArray[] = [];
  for (const value of values) {
    const match = form.exec(value);
    if (!match) return null;
    matches.push(match);
  }
  return matches[0]!.map((_, group) => matches.map((match) => match[group]));
}

const isOne = (list: readonly unknown[]) => new Set(list).size === 1;

/** Whether the calendar has them all, and pandas, which counts nanoseconds from 1970. */
function areDays(years: Texts, months: Texts, days: Texts): boolean {
  return years.every((year, i) => {
    const [month, day] = [Number(months[i]), Number(days[i])];
    const date = new Date(Date.UTC(Number(year), month - 1, day));
    return Number(year) > 1677 && Number(year) < 2262 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  });
}

/** The time behind a day, in a format; null where some have one and some have none. */
function timeOf(times: Texts, seconds: Texts): string | null {
  const has = (list: Texts) => list.map((text) => text !== undefined);
  if (!isOne(has(times)) || !isOne(has(seconds))) return null;
  return times[0] === undefined ? "" : seconds[0] === undefined ? " %H:%M" : " %H:%M:%S";
}

function monthsOf(values: readonly string[]): Dates | null {
  const [, names, marks, years] = groupsOf(values, MONTH_YEAR) ?? [];
  const first = values.map(() => "1");
  if (!names || !isOne(marks!) || !areDays(years!, first, first)) return null;
  if (names.every((name) => name!.length === 3)) return format(`%b${marks![0]}%Y`);
  return names.every((name) => LONG_MONTH.test(name!)) ? format(`%B${marks![0]}%Y`) : null;
}

function yearFirst(values: readonly string[]): Dates | null {
  if (values.every((value) => ISO_DAY.test(value))) return null; // they sort as they are
  const [, years, marks, months, days, times, seconds] = groupsOf(values, YEAR_FIRST) ?? [];
  if (!years || !isOne(marks!) || !areDays(years, months!, days!)) return null;
  const time = timeOf(times!, seconds!);
  return time === null ? null : format(`%Y${marks![0]}%m${marks![0]}%d${time}`);
}

/** The day is first beside a point, and where a first number can be no month; the month where a second one cannot. */
function yearLast(values: readonly string[]): Dates | null {
  const [, firsts, marks, seconds, years, times, rest] = groupsOf(values, YEAR_LAST) ?? [];
  if (!firsts || !isOne(marks!)) return null;
  const time = timeOf(times!, rest!);
  const mark = marks![0]!;
  const mayDayFirst = areDays(years!, seconds!, firsts);
  const mayMonthFirst = mark !== "." && areDays(years!, firsts, seconds!);
  if (time === null || mayDayFirst === mayMonthFirst) return null;
  return format(mayDayFirst ? `%d${mark}%m${mark}%Y${time}` : `%m${mark}%d${mark}%Y${time}`);
}

/** The same text for the same moment, whatever its offset; what a Date drops behind the milliseconds is kept. */
export function momentOf(value: string): string {
  return `${Date.parse(value.replace(" ", "T"))}.${/\.\d{3}(\d+)/.exec(value)?.[1] ?? ""}`;
}

function isMoment(value: string): boolean {
  const year = Number(value.slice(0, 4));
  return OFFSET.test(value) && year > 1677 && year < 2262 && !momentOf(value).startsWith("NaN");
}

/** Null for what is no date, and for what sorts by time as it stands. */
export function datesOf(values: readonly string[]): Dates | null {
  if (values.length === 0) return null;
  if (values.every(isMoment)) return { order: "time", how: "utc=True", isUtc: true };
  const isLike = () => values.filter((value) => LIKE_DATE.test(value)).length > values.length * 0.9;
  return monthsOf(values) ?? yearFirst(values) ?? yearLast(values) ?? (isLike() ? { order: "file" } : null);
}
