/** What a parameter's value adds to what is read; throws an Error for a value that is not known. */
export type Reader<Address> = (value: string) => Partial<Address>;

/** Reads the parameters of an address. Throws an Error that goes on after the address's name, for one that is not honoured. */
export function readParameters<Address>(
  given: URLSearchParams,
  readers: Readonly<Record<string, Reader<Address>>>,
): Partial<Address> {
  let read: Partial<Address> = {};
  for (const [name, value] of given) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (reader === undefined) throw new Error(`has the parameter "${name.slice(0, 40)}", which is not known`);
    try {
      read = { ...read, ...reader(value) };
    } catch (error) {
      throw new Error(`has the parameter "${name}", which ${(error as Error).message}`, { cause: error });
    }
  }
  return read;
}

/** Nothing; throws where the value is none of these. */
export function oneOf(value: string, known: readonly string[]): object {
  if (known.includes(value)) return {};
  throw new Error(`takes ${known.join(', ')}`);
}

/** A whole number from `least` on. */
export function whole(text: string, least: number): number {
  if (/^\d{1,6}$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(`takes a whole number from ${least}`);
}
