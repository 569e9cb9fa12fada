/** What `next` makes of a value: at once where the value is there, else when it has come. */
export function whenKnown<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
