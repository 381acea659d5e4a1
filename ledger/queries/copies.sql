-- Promises: the blobs that hold, byte for byte, what one of the blobs in the JSON array of hashes ?1 holds, and aren't
-- in it. Redacting one of two leaves the bytes in the file.

WITH target AS (
  SELECT hash, length(data) AS size, encoding, data
  FROM main.blobs
  WHERE hash IN (SELECT value FROM json_each(?1)) AND length(data) > 0
)
SELECT other.seq AS seq, other.hash AS hash, min(target.hash) AS target
FROM main.blobs AS other
CROSS JOIN target
WHERE target.size = length(other.data) AND other.encoding = target.encoding AND other.data = target.data
  AND other.hash NOT IN (SELECT value FROM json_each(?1))
GROUP BY other.id
ORDER BY other.id;
