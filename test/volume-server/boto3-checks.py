"""Checks of an S3 server with boto3, an independent client. Prints a line of JSON for each check.

Arguments: endpoint, bucket, access key id; the secret access key is in the environment as AWS_SECRET_ACCESS_KEY.
"""

import base64
import concurrent.futures
import datetime
import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
import zlib

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT, BUCKET, ACCESS_KEY = sys.argv[1:4]
SECRET = os.environ["AWS_SECRET_ACCESS_KEY"]
LIST_KEYS = int(os.environ.get("LIST_KEYS", "5000"))
PART = 5 * 1024 * 1024


def client(secret=SECRET, **options):
    config = Config(
        signature_version="s3v4",
        s3={"addressing_style": "path"},
        retries={"max_attempts": 1},
        max_pool_connections=32,
        **options,
    )
    return boto3.client(
        "s3",
        endpoint_url=ENDPOINT,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=config,
    )


s3 = client()
PLAIN = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}


def put(key, body, **options):
    return s3.put_object(Bucket=BUCKET, Key=key, Body=body, **options)


def get(key, **options):
    return s3.get_object(Bucket=BUCKET, Key=key, **options)["Body"].read()


def fails(codes, work):
    """The work fails with one of these codes or statuses."""
    try:
        work()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        assert code in codes or status in codes, f"{code} {status}"
        return
    raise AssertionError(f"should fail with {codes}")


def keys_of(**options):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, **options)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def put_and_get():
    body = os.urandom(300_000)
    etag = put("plain/a.warc.gz", body)["ETag"]
    assert etag == f'"{hashlib.md5(body).hexdigest()}"', etag
    assert get("plain/a.warc.gz") == body
    head = s3.head_object(Bucket=BUCKET, Key="plain/a.warc.gz")
    assert head["ContentLength"] == len(body) and head["ETag"] == etag


def zero_bytes():
    put("plain/empty", b"")
    assert get("plain/empty") == b""
    assert s3.head_object(Bucket=BUCKET, Key="plain/empty")["ContentLength"] == 0


def overwrite():
    put("plain/over", b"first")
    put("plain/over", b"the second")
    assert get("plain/over") == b"the second"


def twenty_racers():
    for race in range(3):
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            key = f"race/{race}"
            bodies = [f"racer {number}".encode() * 1000 for number in range(20)]

            def run(body):
                try:
                    put(key, body, IfNoneMatch="*")
                    return "won"
                except ClientError as error:
                    return error.response["Error"]["Code"]

            outcomes = list(pool.map(run, bodies))
        assert outcomes.count("won") == 1, outcomes
        assert set(outcomes) == {"won", "PreconditionFailed"}, outcomes
        assert get(key) == bodies[outcomes.index("won")]


def if_match():
    etag = put("plain/match", b"one")["ETag"]
    put("plain/match", b"two", IfMatch=etag)
    fails(["PreconditionFailed"], lambda: put("plain/match", b"three", IfMatch=etag))
    assert get("plain/match") == b"two"


def wrong_md5():
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    fails(["BadDigest"], lambda: put("plain/wrong-md5", b"body", ContentMD5=wrong))
    fails([404], lambda: s3.head_object(Bucket=BUCKET, Key="plain/wrong-md5"))


def wrong_checksums():
    wrong = {
        "ChecksumCRC32": base64.b64encode(b"\0\0\0\1").decode(),
        "ChecksumSHA1": base64.b64encode(hashlib.sha1(b"other").digest()).decode(),
        "ChecksumSHA256": base64.b64encode(hashlib.sha256(b"other").digest()).decode(),
    }
    for name, value in wrong.items():
        fails(["BadDigest"], lambda: put("plain/wrong-sum", b"body", **{name: value}))
    fails([404], lambda: s3.head_object(Bucket=BUCKET, Key="plain/wrong-sum"))


def right_checksums():
    sha = base64.b64encode(hashlib.sha256(b"body").digest()).decode()
    put("plain/sum", b"body", ChecksumSHA256=sha)
    head = s3.head_object(Bucket=BUCKET, Key="plain/sum", ChecksumMode="ENABLED")
    assert head["ChecksumSHA256"] == sha
    crc = base64.b64encode(zlib.crc32(b"streamed").to_bytes(4, "big")).decode()
    put("plain/sum-2", b"streamed", ChecksumAlgorithm="CRC32")
    assert s3.head_object(Bucket=BUCKET, Key="plain/sum-2", ChecksumMode="ENABLED")["ChecksumCRC32"] == crc
    assert get("plain/sum-2", ChecksumMode="ENABLED") == b"streamed"


def wrong_signature():
    other = client(secret="not the secret")
    fails([403], lambda: other.head_object(Bucket=BUCKET, Key="plain/empty"))
    fails(["SignatureDoesNotMatch"], lambda: other.get_object(Bucket=BUCKET, Key="plain/empty"))
    fails(["SignatureDoesNotMatch"], lambda: other.put_object(Bucket=BUCKET, Key="plain/forged", Body=b"x"))
    fails([404], lambda: s3.head_object(Bucket=BUCKET, Key="plain/forged"))


def ranges():
    body = os.urandom(100_000)
    put("plain/range", body)
    reply = s3.get_object(Bucket=BUCKET, Key="plain/range", Range="bytes=10-19")
    assert reply["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert reply["ContentRange"] == "bytes 10-19/100000" and reply["Body"].read() == body[10:20]
    assert get("plain/range", Range="bytes=99990-") == body[99990:]
    assert get("plain/range", Range="bytes=99990-200000") == body[99990:]
    fails(["InvalidRange"], lambda: get("plain/range", Range="bytes=100000-100001"))


def suffix_range():
    body = os.urandom(1000)
    put("plain/suffix", body)
    assert get("plain/suffix", Range="bytes=-10") == body[-10:]


def conditional_get():
    reply = put("plain/conditional", b"body")
    etag = reply["ETag"]
    assert get("plain/conditional", IfMatch=etag) == b"body"
    fails(["PreconditionFailed", 412], lambda: get("plain/conditional", IfMatch='"other"'))
    fails([304], lambda: get("plain/conditional", IfNoneMatch=etag))
    # A second later: versitygw takes the fraction that the field cannot express for a later change.
    modified = s3.head_object(Bucket=BUCKET, Key="plain/conditional")["LastModified"] + datetime.timedelta(seconds=1)
    fails([304], lambda: get("plain/conditional", IfModifiedSince=modified))
    assert get("plain/conditional", IfUnmodifiedSince=modified) == b"body"
    fails(["PreconditionFailed", 412], lambda: get("plain/conditional", IfUnmodifiedSince=datetime.datetime(2001, 1, 1)))


def long_list():
    keys = [f"list/{number % 10}/{number:05}" for number in range(LIST_KEYS)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda key: put(key, b"x"), keys))
    found = keys_of(Prefix="list/")
    assert found == sorted(keys), (len(found), found[:3])
    after = sorted(keys)[LIST_KEYS // 2]
    assert keys_of(Prefix="list/", StartAfter=after) == sorted(keys)[LIST_KEYS // 2 + 1 :]
    page = s3.list_objects_v2(Bucket=BUCKET, Prefix="list/", MaxKeys=7)
    assert page["KeyCount"] == 7 and page["IsTruncated"] and len(page["Contents"]) == 7
    assert page["Contents"][0]["Size"] == 1 and page["Contents"][0]["ETag"] == f'"{hashlib.md5(b"x").hexdigest()}"'


def delimiter():
    for key in ["tree/a", "tree/b/1", "tree/b/2", "tree/b-1", "tree/c/d/e", "tree/z"]:
        put(key, b"x")
    entries, prefixes = [], []
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=BUCKET, Prefix="tree/", Delimiter="/", PaginationConfig={"PageSize": 2}
    )
    for page in pages:
        entries += [entry["Key"] for entry in page.get("Contents", [])]
        prefixes += [entry["Prefix"] for entry in page.get("CommonPrefixes", [])]
    assert entries == ["tree/a", "tree/b-1", "tree/z"], entries
    assert prefixes == ["tree/b/", "tree/c/"], prefixes
    assert keys_of(Prefix="tree/b") == ["tree/b-1", "tree/b/1", "tree/b/2"]


def old_list():
    found, prefixes = [], []
    for page in s3.get_paginator("list_objects").paginate(
        Bucket=BUCKET, Prefix="tree/", Delimiter="/", PaginationConfig={"PageSize": 2}
    ):
        found += [entry["Key"] for entry in page.get("Contents", [])]
        prefixes += [entry["Prefix"] for entry in page.get("CommonPrefixes", [])]
    assert found == ["tree/a", "tree/b-1", "tree/z"] and prefixes == ["tree/b/", "tree/c/"], (found, prefixes)


def multipart():
    name = {"Bucket": BUCKET, "Key": "multi/plain"}
    upload = s3.create_multipart_upload(**name, Metadata={"kind": "joined"}, ContentType="application/warc")
    at = {**name, "UploadId": upload["UploadId"]}
    bodies = [os.urandom(PART), os.urandom(PART), b"the end"]
    parts = []
    for number, body in enumerate(bodies, 1):
        etag = s3.upload_part(**at, PartNumber=number, Body=body)["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    listed = s3.list_parts(**at)["Parts"]
    assert [(part["PartNumber"], part["Size"]) for part in listed] == [(1, PART), (2, PART), (3, 7)]
    pending = s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
    assert [one["Key"] for one in pending] == ["multi/plain"]
    wrong = [{**parts[0], "ETag": '"00000000000000000000000000000000"'}, *parts[1:]]
    fails(["InvalidPart"], lambda: s3.complete_multipart_upload(**at, MultipartUpload={"Parts": wrong}))
    made = s3.complete_multipart_upload(**at, MultipartUpload={"Parts": parts})
    whole = hashlib.md5(b"".join(hashlib.md5(body).digest() for body in bodies)).hexdigest()
    assert made["ETag"] == f'"{whole}-3"', made["ETag"]
    assert get("multi/plain") == b"".join(bodies)
    head = s3.head_object(**name)
    assert head["Metadata"] == {"kind": "joined"} and head["ContentType"] == "application/warc"
    assert s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []


def copied_parts():
    source = os.urandom(PART + 1000)
    put("multi/source", source)
    at = {"Bucket": BUCKET, "Key": "multi/copied"}
    at["UploadId"] = s3.create_multipart_upload(**at)["UploadId"]
    origin = {"Bucket": BUCKET, "Key": "multi/source"}
    ranges = [(0, PART - 1), (1000, PART + 999), None]
    parts = []
    for number, one in enumerate(ranges, 1):
        options = {"CopySourceRange": f"bytes={one[0]}-{one[1]}"} if one else {}
        result = s3.upload_part_copy(**at, PartNumber=number, CopySource=origin, **options)["CopyPartResult"]
        parts.append({"PartNumber": number, "ETag": result["ETag"]})
    s3.complete_multipart_upload(**at, MultipartUpload={"Parts": parts})
    assert get("multi/copied") == source[:PART] + source[1000:] + source


def conditional_completion():
    for key, code in [("multi/new", None), ("multi/new", "PreconditionFailed")]:
        at = {"Bucket": BUCKET, "Key": key}
        at["UploadId"] = s3.create_multipart_upload(**at)["UploadId"]
        etag = s3.upload_part(**at, PartNumber=1, Body=b"only")["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        work = lambda: s3.complete_multipart_upload(**at, MultipartUpload=parts, IfNoneMatch="*")
        if code is None:
            work()
        else:
            fails([code], work)
            s3.abort_multipart_upload(**at)


def abort():
    at = {"Bucket": BUCKET, "Key": "multi/aborted"}
    at["UploadId"] = s3.create_multipart_upload(**at)["UploadId"]
    s3.upload_part(**at, PartNumber=1, Body=b"part")
    s3.abort_multipart_upload(**at)
    fails(["NoSuchUpload"], lambda: s3.upload_part(**at, PartNumber=2, Body=b"late"))
    fails(["NoSuchUpload"], lambda: s3.list_parts(**at))
    fails([404], lambda: s3.head_object(Bucket=BUCKET, Key="multi/aborted"))
    put("multi/aborted", b"whole")
    assert get("multi/aborted") == b"whole"


def copy():
    put("copy/from", b"copied", Metadata={"kind": "first"}, ContentType="text/plain")
    source = {"Bucket": BUCKET, "Key": "copy/from"}
    s3.copy_object(Bucket=BUCKET, Key="copy/to", CopySource=source)
    head = s3.head_object(Bucket=BUCKET, Key="copy/to")
    assert head["Metadata"] == {"kind": "first"} and head["ContentType"] == "text/plain"
    s3.copy_object(
        Bucket=BUCKET, Key="copy/to", CopySource=source, MetadataDirective="REPLACE", Metadata={"kind": "second"}
    )
    assert s3.head_object(Bucket=BUCKET, Key="copy/to")["Metadata"] == {"kind": "second"}
    assert get("copy/to") == b"copied"
    fails(
        ["PreconditionFailed"],
        lambda: s3.copy_object(Bucket=BUCKET, Key="copy/no", CopySource=source, CopySourceIfMatch='"other"'),
    )


def delete_many():
    keys = [f"gone/{number}" for number in range(50)]
    for key in keys:
        put(key, b"x")
    wanted = {"Objects": [{"Key": key} for key in [*keys, "gone/never"]]}
    reply = s3.delete_objects(Bucket=BUCKET, Delete=wanted)
    assert len(reply["Deleted"]) == 51 and not reply.get("Errors"), reply
    assert keys_of(Prefix="gone/") == []
    put("gone/one", b"x")
    s3.delete_object(Bucket=BUCKET, Key="gone/one")
    s3.delete_object(Bucket=BUCKET, Key="gone/one")
    fails([404], lambda: s3.head_object(Bucket=BUCKET, Key="gone/one"))


def presigned():
    name = {"Bucket": BUCKET, "Key": "signed/a b+c.txt"}
    upload = s3.generate_presigned_url("put_object", Params=name, ExpiresIn=60)
    request = urllib.request.Request(upload, data=b"by a link", method="PUT")
    assert urllib.request.urlopen(request).status == 200
    download = s3.generate_presigned_url("get_object", Params=name, ExpiresIn=60)
    assert urllib.request.urlopen(download).read() == b"by a link"
    try:
        urllib.request.urlopen(download.replace("signed/", "signed-/"))
        raise AssertionError("another key was read with the link")
    except urllib.error.HTTPError as error:
        assert error.code == 403, error.code


def metadata():
    put(
        "plain/metadata",
        b"x",
        Metadata={"one": "1", "two-words": "a b"},
        ContentType="application/warc",
        CacheControl="no-store",
        ContentDisposition='attachment; filename="a"',
        ContentEncoding="gzip",
    )
    head = s3.head_object(Bucket=BUCKET, Key="plain/metadata")
    assert head["Metadata"] == {"one": "1", "two-words": "a b"}
    assert head["ContentType"] == "application/warc" and head["CacheControl"] == "no-store"
    assert head["ContentDisposition"] == 'attachment; filename="a"'
    assert head["ContentEncoding"] in ["gzip", "gzip,"]


def odd_names():
    keys = ["odd/a b", "odd/a+b", "odd/a%20b", "odd/ä/ö", "odd/日本", "odd/!'()*&$@=;:,?", "odd/\U0001f600", "odd/UP", "odd/up"]
    for key in keys:
        put(key, key.encode())
    for key in keys:
        assert get(key) == key.encode(), key
    assert keys_of(Prefix="odd/") == sorted(keys, key=lambda key: key.encode())
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in keys]})
    assert keys_of(Prefix="odd/") == []


def missing():
    fails(["NoSuchKey"], lambda: get("no/such/key"))
    fails([404], lambda: s3.head_object(Bucket=BUCKET, Key="no/such/key"))
    fails(["NoSuchUpload"], lambda: s3.list_parts(Bucket=BUCKET, Key="no", UploadId="0" * 40))


def buckets():
    assert BUCKET in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
    s3.head_bucket(Bucket=BUCKET)
    assert s3.get_bucket_location(Bucket=BUCKET)["LocationConstraint"] in [None, "us-east-1"]
    assert "Status" not in s3.get_bucket_versioning(Bucket=BUCKET)


def plain_requests():
    """A client that sends no checksums beyond the signature."""
    plain = client(**PLAIN)
    plain.put_object(Bucket=BUCKET, Key="plain/no-sum", Body=b"x" * 100_000)
    assert plain.get_object(Bucket=BUCKET, Key="plain/no-sum")["Body"].read() == b"x" * 100_000


CHECKS = [
    put_and_get, zero_bytes, overwrite, twenty_racers, if_match, wrong_md5, wrong_checksums, right_checksums,
    wrong_signature, ranges, suffix_range, conditional_get, long_list, delimiter, old_list, multipart, copied_parts,
    conditional_completion, abort, copy, delete_many, presigned, metadata, odd_names, missing, buckets, plain_requests,
]  # fmt: skip

for check in CHECKS:
    try:
        check()
        failure = None
    except Exception as error:  # Every failure is reported, and the other checks run.
        failure = f"{type(error).__name__}: {error}"[:500]
    print(json.dumps({"check": check.__name__, "failure": failure}), flush=True)
